"use strict";
// Values on hover and by arrow keys, and the network that moves. Everything that is shown as text is set by textContent.
(() => {
  const tip = document.getElementById("tip");
  const shape = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);

  function show(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - tip.offsetHeight - 8)) + "px";
  }
  const hide = () => { tip.hidden = true; };
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });

  const middle = (element) => {
    const box = element.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };

  // Arrow keys step through `count` things; `at(n)` shows one.
  function keys(area, count, at) {
    let now = -1;
    area.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Home") now = 0;
      else if (event.key === "End") now = count - 1;
      else if (step) now = Math.max(0, Math.min(count - 1, now + step));
      else return;
      event.preventDefault();
      at(now);
    });
  }

  // Curves and bars: the point nearest to the pointer, and those of other series at the same place.
  function chart(figure, data) {
    const area = figure.querySelector(".picture"), svg = area.querySelector("svg");
    const cursor = shape("circle");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("r", "4");
    const points = data.points;
    const order = points.map((_, n) => n).sort((a, b) => points[a][1] - points[b][1] || points[a][0] - points[b][0]);
    const words = (point) => {
      const name = data.names.length > 1 ? data.names[point[0]] + ": " : "";
      return name + data.y + " " + point[4];
    };
    function at(point, x, y) {
      const beside = new Map();
      for (const other of points) {
        const known = beside.get(other[0]);
        if (!known || Math.abs(other[1] - point[1]) < Math.abs(known[1] - point[1])) beside.set(other[0], other);
      }
      beside.set(point[0], point);
      const lines = [...beside.values()].filter((p) => Math.abs(p[1] - point[1]) < 6).map(words);
      cursor.setAttribute("cx", point[1]);
      cursor.setAttribute("cy", point[2]);
      svg.append(cursor);
      show(data.x + ": " + point[3] + "\n" + lines.join("\n"), x, y);
    }
    area.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = null, least = Infinity;
      for (const point of points) {
        const far = (point[1] - x) ** 2 + 0.1 * (point[2] - y) ** 2;
        if (far < least) { least = far; best = point; }
      }
      if (best) at(best, event.clientX, event.clientY);
    });
    const leave = () => { hide(); cursor.remove(); };
    area.addEventListener("pointerleave", leave);
    area.addEventListener("blur", leave);
    keys(area, points.length, (n) => { at(points[order[n]], ...middle(area)); });
  }

  // Squares and bars that carry their own words.
  function cells(area) {
    const all = area.querySelectorAll("[data-t]");
    area.addEventListener("pointermove", (event) => {
      const words = event.target.dataset ? event.target.dataset.t : "";
      if (words) show(words, event.clientX, event.clientY); else hide();
    });
    area.addEventListener("pointerleave", hide);
    area.addEventListener("blur", hide);
    keys(area, all.length, (n) => { show(all[n].dataset.t, ...middle(all[n])); });
  }

  // The network: a class by load for each line and half disc, in each frame.
  function network(figure, data) {
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const value = new Map([...digits].map((digit, n) => [digit, n]));
    const area = figure.querySelector(".picture"), paths = [...area.querySelectorAll("path")];
    const slider = figure.querySelector("input"), button = figure.querySelector("button"), output = figure.querySelector("output");
    const number = new Map(paths.map((path, n) => [path, n]));
    const share = (frame, n) => (value.get(data.frames[frame][2 * n]) * 64 + value.get(data.frames[frame][2 * n + 1])) / 4095;
    const kinds = paths.map((path) => path.getAttribute("class")[0]);
    const end = figure.querySelector(".top");
    let frame = 0, timer = 0, marked = null;
    function draw(next) {
      frame = next;
      const top = data.tops[frame ? 1 : 0];
      paths.forEach((path, n) => {
        path.setAttribute("class", kinds[n] + Math.min(data.steps - 1, Math.floor(share(frame, n) / top * data.steps)));
      });
      if (marked) marked.classList.add("on");
      end.textContent = Number((100 * top).toFixed(1)) + " %";
      if (output) output.textContent = data.spans[frame];
      if (slider) { slider.value = frame; slider.setAttribute("aria-valuetext", data.spans[frame]); }
    }
    const words = (n) => data.names[n] + "\n" + (100 * share(frame, n)).toFixed(1) + " % in " + (frame ? data.spans[frame] : "the whole run")
      + (frame ? "; whole run " + (100 * share(0, n)).toFixed(1) + " %" : "");
    function mark(path) {
      if (marked) marked.classList.remove("on");
      marked = path;
      if (path) path.classList.add("on");
    }
    function stop() {
      clearInterval(timer);
      timer = 0;
      if (button) { button.textContent = "Play"; button.setAttribute("aria-pressed", "false"); output.removeAttribute("aria-live"); }
    }
    if (slider) {
      slider.addEventListener("input", () => { stop(); draw(Number(slider.value)); });
      button.addEventListener("click", () => {
        if (timer) { stop(); return; }
        button.textContent = "Pause";
        button.setAttribute("aria-pressed", "true");
        // Screen readers would speak of each step.
        output.setAttribute("aria-live", "off");
        timer = setInterval(() => draw(frame + 1 < data.frames.length ? frame + 1 : 1), 200);
      });
    }
    area.addEventListener("pointermove", (event) => {
      const n = number.get(event.target);
      if (n === undefined) {
        mark(null);
        const words = event.target.dataset ? event.target.dataset.t : "";
        if (words) show(words, event.clientX, event.clientY); else hide();
        return;
      }
      mark(event.target);
      show(words(n), event.clientX, event.clientY);
    });
    const leave = () => { hide(); mark(null); };
    area.addEventListener("pointerleave", leave);
    area.addEventListener("blur", leave);
    const busiest = paths.map((_, n) => n).sort((a, b) => share(0, b) - share(0, a) || a - b);
    keys(area, busiest.length, (n) => {
      mark(paths[busiest[n]]);
      show(words(busiest[n]), ...middle(paths[busiest[n]]));
    });
  }

  for (const figure of document.querySelectorAll("figure.chart")) {
    const given = figure.querySelector("script[type='application/json']");
    if (figure.classList.contains("map")) network(figure, JSON.parse(given.textContent));
    else if (given) chart(figure, JSON.parse(given.textContent));
    else cells(figure.querySelector(".cells"));
  }
})();
