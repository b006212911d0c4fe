//! How one-sided calls are read.

use super::{
    lexer::{Kind, Step, Tokens},
    phrase::Phrases,
    statement::{Call, OnWindow, Peer, What},
    words::ONE_SIDED,
};
use crate::program::mpi::{TransferKind, Window};
use base::{registry::nearest, units::Family};

impl Phrases {
    /// A one-sided call from behind its first word; nothing if the word begins none.
    pub(super) fn one_sided(&mut self, word: &str, tokens: &mut Tokens<'_>) -> Step<Option<Call>> {
        if !ONE_SIDED.contains(&word) {
            return Ok(None);
        }
        self.loose = true;
        if word == "win_create" {
            // Whoever reads the calls for communicators finds the windows, too.
            self.makes_communicators = true;
            let comm = self.comm(tokens)?;
            tokens.expect("as")?;
            let name = tokens.word("a name")?;
            let next = self.windows.len() as u32;
            let new = *self.windows.entry(name.to_owned()).or_insert(next);
            return Ok(Some(Call::Window(comm, new)));
        }
        let on = match TransferKind::ALL.into_iter().find(|kind| kind.key() == word) {
            Some(kind) => self.transfer_of(kind, tokens)?,
            None => self.on_window(word, tokens)?,
        };
        Ok(Some(Call::OnWindow(Box::new(on))))
    }

    /// `1 KiB to 3 win w as r`
    fn transfer_of(&mut self, kind: TransferKind, tokens: &mut Tokens<'_>) -> Step<OnWindow> {
        let bytes = self.quantity(tokens, Family::Bytes)?;
        tokens.expect(if kind == TransferKind::Get { "from" } else { "to" })?;
        let peer = if tokens.take("null") { Peer::Null } else { Peer::Is(self.expression(tokens)?) };
        tokens.expect("win")?;
        let window = self.window(tokens)?;
        let request = if tokens.is("as") { Some(self.named(tokens)?) } else { None };
        Ok(OnWindow { window, what: What::Transfer(kind, bytes, peer, request) })
    }

    fn on_window(&mut self, word: &str, tokens: &mut Tokens<'_>) -> Step<OnWindow> {
        let window = self.window(tokens)?;
        let what = match word {
            "win_free" => What::Free,
            "win_fence" => What::Fence,
            "win_post" | "win_start" => {
                tokens.expect("group")?;
                let ranks = self.group(tokens)?;
                if word == "win_post" { What::Post(ranks) } else { What::Start(ranks) }
            }
            "win_complete" => What::Complete,
            "win_wait" => What::Wait,
            "win_lock" => {
                let peer = self.expression(tokens)?;
                let exclusive = tokens.take("exclusive");
                if !exclusive {
                    tokens.expect("shared")?;
                }
                What::Lock(peer, exclusive)
            }
            "win_unlock" => What::Unlock(self.expression(tokens)?),
            "win_lock_all" => What::LockAll,
            "win_unlock_all" => What::UnlockAll,
            "win_flush_all" | "win_flush_local_all" => What::Flush(None, word == "win_flush_local_all"),
            _ => What::Flush(Some(self.expression(tokens)?), word == "win_flush_local"),
        };
        Ok(OnWindow { window, what })
    }

    fn window(&self, tokens: &mut Tokens<'_>) -> Step<Window> {
        let (kind, name) = tokens.peek();
        if kind != Kind::Word {
            return Err(tokens.wanted("a window"));
        }
        let known = self.windows.get(name).copied().ok_or_else(|| {
            let mistake = tokens.mistake(format!("no window was called `{name}`"));
            match nearest(name, self.windows.keys().map(String::as_str)).first() {
                Some(near) => mistake.help(format!("did you mean `{near}`?")),
                None => mistake.help("windows get their names by `win_create world as w`"),
            }
        })?;
        tokens.skip();
        Ok(known)
    }
}
