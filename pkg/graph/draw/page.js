// The page works on the picture that it is given: lanes and bundles in the document stand in the order of the data.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const view = byId("view");
  const picture = byId("picture");
  const panel = byId("panel");
  const help = [...panel.childNodes];

  const lanes = JSON.parse(byId("fates").textContent);
  const bundles = []; // all of them, in the order of the document
  const owners = new Map(); // from an element to its bundle
  document.querySelectorAll(".lane").forEach((group, i) => {
    const lane = lanes[i];
    lane.group = group;
    group.querySelectorAll(".bundle").forEach((element, row) => {
      const box = element.querySelector(".box");
      const number = (name) => Number(box.getAttribute(name));
      const bundle = lane.bundles[row];
      Object.assign(bundle, { element, lane, laneIndex: i, row,
        left: number("x"), right: number("x") + number("width"), middle: number("y") + number("height") / 2 });
      element.setAttribute("role", "button");
      element.setAttribute("aria-pressed", "false");
      element.setAttribute("tabindex", "-1"); // the arrow keys lead to it; Tab leads to one of them only
      owners.set(element, bundle);
      bundles.push(bundle);
    });
  });
  const bundleOf = (target) => owners.get(target.closest?.(".bundle"));

  // Words.

  function add(parent, name, text, className) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    parent.append(element);
    return element;
  }

  const count = (n, thing) => `${n} ${thing}${n === 1 ? "" : "s"}`;

  const reasons = {
    "replaces": "which replaces it",
    "skips": "which skips it",
    "skipRange": "whose skipRange holds it",
    "same version": "which has the same version",
  };

  // walk returns the updates of an installed bundle, whether they go on for ever, and the error that ends them.
  function walk(start, steps) {
    const path = [];
    const seen = new Set([start.row]);
    for (let step = steps[start.row]; step; step = steps[step.to]) {
      if (step.error) return { path, loop: false, error: step.error };
      path.push({ to: start.lane.bundles[step.to], by: step.by });
      if (seen.has(step.to)) return { path, loop: true };
      seen.add(step.to);
    }
    return { path, loop: false };
  }

  function summary(bundle, { path, loop, error }) {
    if (loop) return "The updates never end:";
    if (path.length === 0) {
      if (error) return `It gets no updates, as OLM reports: ${error}`;
      return bundle.head ? "It is the head of the channel and stays." : "It stays: nothing updates it.";
    }
    const end = path[path.length - 1].to;
    const where = end.head ? "the head of the channel" : "which is not the head of the channel";
    return `${count(path.length, "update")} to ${end.name}, ${where}:`;
  }

  function tellWalk(bundle, title, className, walked, refused) {
    add(panel, "h3", title, className);
    if (refused) {
      add(panel, "p", `It gets no updates, as OLM Classic refuses the channel: ${refused}`);
      return;
    }
    add(panel, "p", summary(bundle, walked), "summary");
    if (walked.path.length === 0) return;
    const list = add(panel, "ol");
    for (const { to, by } of walked.path) {
      const item = add(list, "li", to.name);
      if (to.version && !to.name.includes(to.version)) item.append(` (${to.version})`);
      add(item, "span", `, ${reasons[by] ?? by}`, "by");
    }
    if (walked.error) add(panel, "p", `Then OLM reports: ${walked.error}`);
  }

  function agree(a, b) {
    return a.loop === b.loop && Boolean(a.error) === Boolean(b.error) && a.path.length === b.path.length && a.path.every((step, i) => step.to === b.path[i].to);
  }

  function tell(bundle, classic, v1) {
    const { lane } = bundle;
    panel.replaceChildren();
    add(panel, "h2", bundle.name);
    if (bundle.version) add(panel, "p", `Version ${bundle.version}`);
    add(panel, "p", lane.loose ? `In no channel of package ${lane.package}` : `Channel ${lane.channel} of package ${lane.package}`);
    if (bundle.state) add(panel, "p", bundle.state, "state");
    if (lane.loose) {
      add(panel, "p", "No channel leads to this bundle.");
      return;
    }
    tellWalk(bundle, "OLM Classic", "classic", classic, lane.refused);
    tellWalk(bundle, "OLM v1", "v1", v1);
    if (!lane.refused) {
      add(panel, "p", agree(classic, v1) ? "Both make the same updates." : "The two differ.", "verdict");
    }
    const others = bundles.filter((b) => b !== bundle && b.name === bundle.name && b.lane.package === lane.package);
    if (others.length > 0) {
      add(panel, "h3", "Also in");
      for (const other of others) {
        const button = add(panel, "button", other.lane.channel);
        button.addEventListener("click", () => { select(other); focusOn(other); });
      }
    }
  }

  // The path in the picture, above all lanes.

  let layer;

  function newLayer(lane) {
    layer = document.createElementNS(picture.namespaceURI, "g");
    layer.setAttribute("transform", lane.group.getAttribute("transform"));
    lane.group.parentNode.append(layer);
  }

  function draw(className, d) {
    const path = document.createElementNS(picture.namespaceURI, "path");
    path.setAttribute("class", className);
    path.setAttribute("d", d);
    layer.append(path);
  }

  // Classic's path bows to the left of the boxes, that of v1 to the right.
  function drawPath(start, { path }, className) {
    const out = className === "classic" ? -1 : 1;
    const side = (bundle) => (out < 0 ? bundle.left : bundle.right);
    let from = start;
    for (const { to } of path) {
      const tip = side(to) + out * 9;
      const bow = Math.max(side(from) * out, tip * out) + Math.min(48, 16 + Math.abs(to.row - from.row) * 4);
      draw(`path ${className}`,
        `M${side(from)} ${from.middle}C${bow * out} ${from.middle} ${bow * out} ${to.middle} ${tip} ${to.middle}`);
      draw(`path-tip ${className}`, `M${side(to)} ${to.middle}l${out * 10} -5v10z`);
      to.element.classList.add("on-path", `on-${className}`);
      from = to;
    }
  }

  let selected;

  function clear() {
    layer?.remove();
    picture.querySelectorAll(".on-path").forEach((e) => e.classList.remove("on-path", "on-classic", "on-v1"));
    if (selected) {
      selected.element.setAttribute("aria-pressed", "false");
      selected.lane.group.classList.remove("selected");
    }
    selected = undefined;
  }

  function select(bundle) {
    clear();
    if (!bundle) {
      panel.replaceChildren(...help);
      return;
    }
    selected = bundle;
    bundle.element.setAttribute("aria-pressed", "true");
    bundle.lane.group.classList.add("selected");
    newLayer(bundle.lane);
    const classic = walk(bundle, bundle.lane.classic);
    const v1 = walk(bundle, bundle.lane.v1);
    drawPath(bundle, classic, "classic");
    drawPath(bundle, v1, "v1");
    tell(bundle, classic, v1);
  }

  // Focus: one bundle at a time can be reached with Tab.

  let current = bundles[0];
  current?.element.setAttribute("tabindex", "0");

  function makeCurrent(bundle) {
    current.element.setAttribute("tabindex", "-1");
    current = bundle;
    current.element.setAttribute("tabindex", "0");
  }

  function focusOn(bundle) {
    makeCurrent(bundle);
    bundle.element.focus({ preventScroll: true });
    reveal(bundle);
  }

  // reveal scrolls a bundle to the middle of the view, unless it is well within.
  function reveal(bundle) {
    const box = bundle.element.getBoundingClientRect();
    const frame = view.getBoundingClientRect();
    const middle = (from, to) => (from + to) / 2;
    if (box.top < frame.top + 40 || box.bottom > frame.bottom - 40) {
      view.scrollTop += middle(box.top, box.bottom) - middle(frame.top, frame.bottom);
    }
    if (box.left < frame.left + 20 || box.right > frame.right - 20) {
      view.scrollLeft += middle(box.left, box.right) - middle(frame.left, frame.right);
    }
  }

  function inLane(index, row) {
    const found = lanes[index]?.bundles;
    return found?.[Math.max(0, Math.min(row, found.length - 1))];
  }

  // beside returns the bundle in the next lane that has any.
  function beside(step) {
    for (let i = current.laneIndex + step; i >= 0 && i < lanes.length; i += step) {
      const bundle = inLane(i, current.row);
      if (bundle) return bundle;
    }
    return undefined;
  }

  const moves = {
    ArrowUp: () => inLane(current.laneIndex, current.row - 1),
    ArrowDown: () => inLane(current.laneIndex, current.row + 1),
    ArrowLeft: () => beside(-1),
    ArrowRight: () => beside(1),
    Home: () => inLane(current.laneIndex, 0),
    End: () => inLane(current.laneIndex, Infinity),
  };

  picture.addEventListener("keydown", (event) => {
    if (!bundleOf(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(current);
    } else if (moves[event.key]) {
      event.preventDefault();
      const bundle = moves[event.key]();
      if (bundle) focusOn(bundle);
    }
  });

  // Zoom. The picture scrolls in its view, so that wheel, touch and keys move it as they move any page.

  const size = { width: picture.width.baseVal.value, height: picture.height.baseVal.value };
  let scale = 1;

  // zoom keeps the point of the picture at x, y of the view where it is; without one, the middle.
  function zoom(to, x = view.clientWidth / 2, y = view.clientHeight / 2) {
    const was = scale;
    scale = Math.max(0.02, Math.min(4, to));
    const left = ((view.scrollLeft + x) / was) * scale - x;
    const top = ((view.scrollTop + y) / was) * scale - y;
    picture.setAttribute("width", size.width * scale);
    picture.setAttribute("height", size.height * scale);
    view.scrollLeft = left;
    view.scrollTop = top;
    byId("zoom-level").textContent = `${Math.round(scale * 100)} %`;
  }

  const zooms = {
    in: () => zoom(scale * 1.25),
    out: () => zoom(scale / 1.25),
    reset: () => zoom(1),
    fit: () => zoom(Math.min(view.clientWidth / size.width, view.clientHeight / size.height)),
  };
  for (const [name, act] of Object.entries(zooms)) byId(`zoom-${name}`).addEventListener("click", act);

  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = view.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  const shortcuts = { "+": zooms.in, "=": zooms.in, "-": zooms.out, "0": zooms.reset, "f": zooms.fit,
    "/": () => byId("query").focus(), "Escape": () => select(undefined) };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    if (!shortcuts[event.key]) return;
    event.preventDefault();
    shortcuts[event.key]();
  });

  // The index leads to a package.

  const packages = picture.querySelectorAll(".package");
  byId("package")?.addEventListener("change", (event) => {
    const box = packages[event.target.selectedIndex].getBoundingClientRect();
    const frame = view.getBoundingClientRect();
    view.scrollTop += box.top - frame.top - 8;
    view.scrollLeft = 0;
  });

  // The page opens at the default channel of the first package, which may be right of the view.

  const start = lanes.find(({ group }) => packages[0].contains(group) && group.querySelector(".badge.default"));
  if (start) {
    if (start.bundles.length > 0) makeCurrent(start.bundles[0]);
    const box = start.group.getBoundingClientRect();
    const frame = view.getBoundingClientRect();
    if (box.right > frame.right) view.scrollLeft += box.left - frame.left - 24;
  }

  // Drag, with the mouse only: fingers scroll by themselves. What is moved was not clicked.

  let drag;

  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType !== "mouse") return;
    drag = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const x = event.clientX - drag.x;
    const y = event.clientY - drag.y;
    drag.moved ||= Math.hypot(x, y) > 4;
    if (!drag.moved) return;
    view.classList.add("dragged");
    view.scrollLeft = drag.left - x;
    view.scrollTop = drag.top - y;
  });
  window.addEventListener("pointerup", () => {
    view.classList.remove("dragged");
    const was = drag;
    drag = undefined;
    dragged = Boolean(was?.moved);
  });
  let dragged = false;

  view.addEventListener("click", (event) => {
    const bundle = bundleOf(event.target);
    if (!bundle || dragged) return;
    makeCurrent(bundle);
    bundle.element.focus({ preventScroll: true });
    select(bundle);
  });

  // Search.

  let matches = [];
  let match = -1;

  function search() {
    const query = byId("query").value.trim().toLowerCase();
    matches.forEach((bundle) => bundle.element.classList.remove("match"));
    const found = (bundle) => bundle.name.toLowerCase().includes(query) || bundle.version?.toLowerCase().includes(query);
    matches = query ? bundles.filter(found) : [];
    matches.forEach((bundle) => bundle.element.classList.add("match"));
    match = -1;
    byId("matches").textContent = query ? (matches.length === 1 ? "1 match" : `${matches.length} matches`) : "";
    if (matches.length > 0) reveal(matches[0]);
  }

  byId("query").addEventListener("input", search);
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    if (matches.length === 0) return;
    match = (match + 1) % matches.length;
    byId("matches").textContent = `${match + 1} of ${matches.length}`;
    makeCurrent(matches[match]);
    select(matches[match]);
    reveal(matches[match]);
  });
})();
