//! Places of a source file that can be changed, found in its syntax.
//!
//! What is changed: operators, some pairs of methods (`min` and `max`, `any` and `all`), negations, statements that call or assign (left out), and whole
//! functions (they return at once). Tests, constant functions, macros (assertions among them) and what only some builds have are left alone.

use std::ops::Range;

use syn::{
    Attribute, BinOp, Block, Expr, ExprBinary, ExprMethodCall, ExprUnary, ImplItemFn, Item, ItemFn,
    ReturnType, Signature, Stmt, Type, UnOp,
    spanned::Spanned,
    visit::{self, Visit},
};

/// How the text at a place is replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Another expression in its place.
    Expression(String),
    /// The statement is not executed.
    LeftOut,
    /// The function returns this at once; the place is empty, behind the opening brace.
    Returns(String),
}

/// A place and what becomes of it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Bytes of the file.
    pub(crate) range: Range<usize>,
    /// Line, from 1.
    pub(crate) line: usize,
    /// What is put there.
    pub(crate) change: Change,
    /// For the report: before and after.
    pub(crate) said: String,
}

/// All places of a text, in order.
///
/// # Errors
///
/// Where the text is not Rust.
pub(crate) fn places(text: &str) -> Result<Vec<Place>, syn::Error> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { text, found: Vec::new() };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder<'t> {
    text: &'t str,
    found: Vec<Place>,
}

impl Finder<'_> {
    fn source(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    fn add(&mut self, part: &impl Spanned, change: Change, said: String) {
        let span = part.span();
        self.found.push(Place { range: span.byte_range(), line: span.start().line, change, said });
    }

    /// A function's first statement may become a return.
    fn function(&mut self, signature: &Signature, block: &Block) {
        if block.stmts.is_empty() {
            return;
        }
        let open = block.brace_token.span.open();
        let at = open.byte_range().end;
        for value in returns(&signature.output) {
            let said = format!(
                "`{}` returns {}",
                signature.ident,
                if value.is_empty() { "at once" } else { &value }
            );
            self.found.push(Place {
                range: at..at,
                line: open.start().line,
                change: Change::Returns(value),
                said,
            });
        }
    }
}

/// What a function with such a type can return without looking, as far as its written type tells.
fn returns(output: &ReturnType) -> Vec<String> {
    let ReturnType::Type(_, kind) = output else { return vec![String::new()] };
    let Type::Path(path) = &**kind else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    let values: &[&str] = match last.ident.to_string().as_str() {
        "bool" => &["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i32" | "i64" | "i128" => &["0", "1"],
        "f64" => &["0.0", "1.0"],
        "Option" => &["None"],
        "Vec" => &["Vec::new()"],
        _ => &[],
    };
    values.iter().map(|&v| v.to_owned()).collect()
}

/// Whether only some builds have it, or only tests.
fn conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| ["cfg", "test", "cfg_attr"].iter().any(|name| a.path().is_ident(name)))
}

/// What an operator becomes.
fn other(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::Add(_) => "-",
        BinOp::Sub(_) | BinOp::Mul(_) => "+",
        BinOp::Div(_) => "*",
        BinOp::Rem(_) => "/",
        BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) => "&",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        BinOp::BitOrAssign(_) => "&=",
        BinOp::BitAndAssign(_) => "|=",
        _ => return None,
    })
}

/// The method that stands against another.
fn opposite(method: &str) -> Option<&'static str> {
    Some(match method {
        "min" => "max",
        "max" => "min",
        "any" => "all",
        "all" => "any",
        "is_some" => "is_none",
        "is_none" => "is_some",
        "is_some_and" => "is_none_or",
        "is_none_or" => "is_some_and",
        "wrapping_add" => "wrapping_sub",
        "saturating_add" => "saturating_sub",
        _ => return None,
    })
}

/// Whether a condition binds names, as `if let .. && ..` does: such a chain is no expression of its own.
struct Binds(bool);

impl<'a> Visit<'a> for Binds {
    fn visit_expr_let(&mut self, _: &'a syn::ExprLet) {
        self.0 = true;
    }
}

fn binds(expression: &ExprBinary) -> bool {
    let mut binds = Binds(false);
    binds.visit_expr_binary(expression);
    binds.0
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(i) => &i.attrs,
            Item::Impl(i) => &i.attrs,
            Item::Mod(i) => &i.attrs,
            Item::Const(_) | Item::Static(_) | Item::Macro(_) | Item::Enum(_) | Item::Struct(_) => return,
            _ => &[],
        };
        if !conditional(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        if function.sig.constness.is_none() && !conditional(&function.attrs) {
            self.function(&function.sig, &function.block);
            self.visit_block(&function.block);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        if function.sig.constness.is_none() && !conditional(&function.attrs) {
            self.function(&function.sig, &function.block);
            self.visit_block(&function.block);
        }
    }

    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}

    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}

    fn visit_type(&mut self, _: &'a Type) {}

    fn visit_pat(&mut self, _: &'a syn::Pat) {}

    fn visit_generic_argument(&mut self, _: &'a syn::GenericArgument) {}

    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_block(&mut self, block: &'a Block) {
        visit::visit_block(self, block);
        self.statements(block);
    }

    fn visit_expr_binary(&mut self, binary: &'a ExprBinary) {
        visit::visit_expr_binary(self, binary);
        let Some(to) = other(&binary.op) else { return };
        if binds(binary) {
            return;
        }
        let (left, right) = (self.source(&binary.left), self.source(&binary.right));
        let changed = format!("{left} {to} {right}");
        let said = format!("`{}` -> `{to}` in `{}`", self.source(&binary.op), short(self.source(binary)));
        self.add(binary, Change::Expression(changed), said);
    }

    fn visit_expr_unary(&mut self, unary: &'a ExprUnary) {
        visit::visit_expr_unary(self, unary);
        if matches!(unary.op, UnOp::Not(_)) {
            let changed = self.source(&unary.expr).to_owned();
            self.add(
                unary,
                Change::Expression(changed),
                format!("no `!` in `{}`", short(self.source(unary))),
            );
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        visit::visit_expr_method_call(self, call);
        let Some(to) = opposite(&call.method.to_string()) else { return };
        let (whole, method) = (call.span().byte_range(), call.method.span().byte_range());
        let changed =
            format!("{}{to}{}", &self.text[whole.start..method.start], &self.text[method.end..whole.end]);
        let said = format!("`{}` -> `{to}` in `{}`", call.method, short(self.source(call)));
        self.add(call, Change::Expression(changed), said);
    }
}

impl Finder<'_> {
    /// Statements of a block that can be left out.
    fn statements(&mut self, block: &Block) {
        for statement in &block.stmts {
            let Stmt::Expr(expression, Some(_)) = statement else { continue };
            let attributes = match expression {
                Expr::MethodCall(e) => &e.attrs,
                Expr::Call(e) => &e.attrs,
                Expr::Assign(e) => &e.attrs,
                _ => continue,
            };
            if attributes.is_empty() {
                let said = format!("without `{}`", short(self.source(statement)));
                self.add(statement, Change::LeftOut, said);
            }
        }
    }
}

/// On one line, and not long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > 70 { format!("{}..", line.chars().take(70).collect::<String>()) } else { line }
}

#[cfg(test)]
mod tests {
    use super::{Change, places};

    const TEXT: &str = "
fn next(a: &mut Vec<u32>, b: u32) -> bool {
    a.push(b);
    debug_assert!(b < 3);
    if let Some(x) = a.first() && *x < b { return !a.is_empty(); }
    b + 1 == 4
}
const fn fixed(a: u32) -> u32 { a + 1 }
#[cfg(test)]
mod tests { fn f(a: u32) -> u32 { a + 1 } }
";

    #[test]
    fn each_kind_of_place_is_found_and_nothing_else() -> Result<(), syn::Error> {
        let found = places(TEXT)?;
        let said: Vec<&str> = found.iter().map(|p| p.said.as_str()).collect();
        let expected = [
            "`next` returns true",
            "`next` returns false",
            "`<` -> `<=` in `*x < b`",
            "no `!` in `!a.is_empty()`",
            "`+` -> `-` in `b + 1`",
            "`==` -> `!=` in `b + 1 == 4`",
            "without `a.push(b);`",
        ];
        assert_eq!(said, expected);
        assert_eq!(found[5].change, Change::Expression("b + 1 != 4".into()));
        assert_eq!(&TEXT[found[6].range.clone()], "a.push(b);");
        Ok(())
    }
}
