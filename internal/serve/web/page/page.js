// The fragment of the URL selects the view: #catalog=&package=&channel=&bundle= is a bundle; without bundle= it is a
// package, and #catalog=&search= are the packages that a search finds. #compare=catalogs is the matrix of all catalogs.
// All texts come from catalogs, which are untrusted: they become text nodes and attributes, never HTML.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const main = byId("main");
  const status = byId("status");
  const queryField = byId("query");

  // Elements.

  // make returns an element with attributes and children. It omits those that are undefined, null or false.
  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
    }
    element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
    return element;
  }

  const count = (n, thing, things = `${thing}s`) => `${n} ${n === 1 ? thing : things}`;
  const badge = (text, className) => make("span", { class: `badge ${className}` }, text);

  // The only schemes of external links: a URL of a catalog with another scheme could run scripts.
  const isSafe = (url) => /^(https?:\/\/|mailto:)/i.test(url);

  function outLink(url, text) {
    if (!isSafe(url)) return `${text} (${url})`;
    return make("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, text);
  }

  function table(caption, heads, rows) {
    return make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, rows.map(([first, ...rest]) => make("tr", {},
        make("th", { scope: "row" }, first),
        rest.map((cell, i) => make("td", { "data-head": heads[i + 1] }, cell))))));
  }

  // facts returns a list of names and values. It omits names without a value.
  function facts(pairs) {
    const list = make("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value === undefined || value === "" || value?.length === 0) continue;
      list.append(make("dt", {}, name), make("dd", {}, value));
    }
    return list;
  }

  const joined = (parts) => parts.flatMap((part, i) => (i === 0 ? [part] : [", ", part]));

  // Markdown: the elements that descriptions use, which are headings, lists, code, links and bold text.

  // code, bold, [label](target) or [label][name] or [label], and bare URLs
  const spans = new RegExp(["`([^`]+)`", "\\*\\*([^*]+)\\*\\*",
    "\\[([^[\\]]+)\\](?:\\(([^[)\\s]+)\\)|\\[([^[\\]]*)\\])?",
    "(https?:\\/\\/[^\\s<>()[\\]\"']*[^\\s<>()[\\]\"'.,;:!?])"].join("|"), "g");

  // inline returns the nodes of a text. targets are the link targets by name; see targetsIn.
  function inline(text, targets) {
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(spans)) {
      parts.push(text.slice(end, match.index));
      const [all, code, bold, label, target = targets.get(linkName(match[5] || label)), , bare] = match;
      if (code) parts.push(make("code", {}, code));
      else if (bold) parts.push(make("strong", {}, bold));
      else if (bare) parts.push(outLink(bare, bare));
      else if (target && isSafe(target)) parts.push(outLink(target, label));
      else parts.push("[", ...inline(all.slice(1), targets)); // brackets that are no link
      end = match.index + all.length;
    }
    parts.push(text.slice(end));
    return parts.filter((part) => part !== "");
  }

  const linkName = (name) => (name ?? "").trim().replaceAll(/\s+/g, " ").toLowerCase();

  const isFence = (line) => /^\s*```/.test(line);

  // [name]: https://example.com "title"
  const definition = /^ {0,3}\[([^[\]]+)\]:\s*<?([^\s<>]+)>?(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?$/;

  // targetsIn removes the link definitions from lines, and returns the target of each name. The first one counts.
  function targetsIn(lines) {
    const targets = new Map();
    let fenced = false;
    for (const [i, line] of lines.entries()) {
      if (isFence(line)) fenced = !fenced;
      const [, name, target] = definition.exec(line.trimEnd()) ?? [];
      if (fenced || !target || !isSafe(target)) continue;
      if (!targets.has(linkName(name))) targets.set(linkName(name), target);
      lines[i] = "";
    }
    return targets;
  }

  function prose(text) {
    const out = make("div", { class: "prose" });
    let paragraph = [];
    let list;
    const lines = text.replaceAll("\r", "").split("\n");
    const targets = targetsIn(lines);
    const flush = () => {
      if (paragraph.length > 0) out.append(make("p", {}, inline(paragraph.join(" "), targets)));
      paragraph = [];
    };
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i];
      const heading = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
      const item = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(line);
      if (isFence(line)) {
        flush();
        const code = [];
        for (i++; i < lines.length && !isFence(lines[i]); i++) code.push(lines[i]);
        out.append(make("pre", {}, make("code", {}, code.join("\n"))));
        list = undefined;
      } else if (heading) {
        flush();
        // The page has headings of the first two levels of its own.
        out.append(make(`h${Math.min(6, heading[1].length + 2)}`, {}, inline(heading[2], targets)));
        list = undefined;
      } else if (item) {
        flush();
        const kind = item[1] ? "OL" : "UL";
        if (list?.tagName !== kind) {
          list = make(kind.toLowerCase());
          out.append(list);
        }
        list.append(make("li", {}, inline(item[2], targets)));
      } else if (line.trim() === "") {
        flush();
      } else if (list && /^\s/.test(line) && paragraph.length === 0) {
        list.lastChild.append(" ", ...inline(line.trim(), targets));
      } else {
        list = undefined;
        paragraph.push(line.trim());
      }
    }
    flush();
    return out;
  }

  // Data.

  // Missing reports that an object does not exist; the message is its name.
  class Missing extends Error {}

  // Loading reports that the server has not loaded the catalogs yet.
  class Loading extends Error {}

  // ask requests ui/v1/what from the server and returns the response.
  async function ask(what, parameters, signal) {
    const response = await fetch(`ui/v1/${what}?${new URLSearchParams(parameters)}`, { signal });
    if (response.status === 404) throw new Missing(Object.values(parameters).at(-1));
    if (response.status === 503) throw new Loading();
    if (response.status === 501) throw new Error(await response.text());
    if (!response.ok) throw new Error(`the server answers ${response.status} ${response.statusText}`);
    return response.json();
  }

  // Links within the page.

  const place = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const link = (parameters) => `#${new URLSearchParams(parameters)}`;

  // Omits a catalog or a search that is undefined or empty.
  const packagesLink = (catalog, search) => link({ ...(catalog && { catalog }), ...(search && { search }) });

  // Omits a channel that is undefined.
  const inChannel = (channel) => (channel === undefined ? {} : { channel });
  const packageLink = (catalog, name, channel) => link({ catalog, package: name, ...inChannel(channel) });
  const bundleLink = (p, bundle, channel) =>
    make("a", { href: link({ catalog: p.catalog, package: p.name, ...inChannel(channel), bundle }) }, bundle);

  // Icons. They are fetched when they are scrolled near the window.

  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      ask("icon", { catalog: target.dataset.catalog, package: target.dataset.package })
        .then(({ icon }) => { if (icon) showIcon(target, icon); }, () => {}); // the letter stays
    }
  }, { rootMargin: "300px" });

  function letter(name) {
    return make("span", { class: "icon", "aria-hidden": "true" }, [...(name || "?")][0].toUpperCase());
  }

  function showIcon(box, url) {
    if (!/^data:image\//.test(url)) return;
    const image = make("img", { alt: "", src: url });
    image.addEventListener("error", () => image.replaceWith(box.dataset.letter ?? ""));
    box.dataset.letter = box.textContent;
    box.replaceChildren(image);
  }

  // All packages of a catalog.

  // about returns the line below the title of a package.
  function about(p, title) {
    return make("p", { class: "quiet" },
      [title !== p.name && p.name, p.version, p.provider && `by ${p.provider}`].filter(Boolean).join(" · "));
  }

  // card returns the card of a package, and its element for the matches of a search.
  function card(catalog, p) {
    const icon = letter(p.displayName || p.name);
    if (p.hasIcon) {
      Object.assign(icon.dataset, { catalog, package: p.name });
      near.observe(icon);
    }
    const title = p.displayName || p.name;
    const part = make("div");
    return { p, part, element: make("li", { class: "card" }, icon, make("div", { class: "text" },
      make("h2", {}, make("a", { href: packageLink(catalog, p.name) }, title)),
      about(p, title),
      p.deprecated && make("p", {}, badge("deprecated", "deprecated")),
      p.summary && make("p", { class: "summary" }, p.summary), part)) };
  }

  // Search. The server returns the results of opm search, in the same order.

  const searched = () => queryField.value.trim();

  // find returns the packages that match the text in the search field, or all packages if it is empty.
  async function find(catalog, signal) {
    for (;;) {
      const text = searched();
      const packages = text === "" ? undefined : (await ask("search", { text, catalog }, signal)).packages;
      if (text === searched()) return { text, packages };
    }
  }

  const fieldNames = { displayName: "display name", api: "API" };

  // matchPart lists the matches in a package, except in the fields that its card shows anyway.
  function matchPart(catalog, p, found) {
    const list = make("ul", { class: "matches", role: "list" });
    const isShown = ({ field, value }) => field === "name" || value === p[field];
    const item = ({ field, value, bundles, highest }) => {
      const of = { catalog, name: p.name };
      if (field === "bundle") return make("li", {}, make("span", { class: "quiet" }, "bundle "), bundleLink(of, value));
      return make("li", {}, make("span", { class: "quiet" }, `${fieldNames[field] ?? field} `), value,
        bundles > 0 && make("span", { class: "quiet" }, " in ", bundleLink(of, highest),
          bundles > 1 && ` and ${bundles - 1} more`));
    };
    const fill = (matches) => list.replaceChildren(...matches.filter((m) => !isShown(m)).map(item));
    fill(found.matches);
    if (found.count === found.matches.length) return list.children.length > 0 ? [list] : [];
    const more = make("button", { type: "button" }, `${found.count - found.matches.length} more`);
    more.setAttribute("aria-label", `${more.textContent} matches in ${p.name}`);
    const text = searched();
    more.addEventListener("click", async () => {
      more.disabled = true;
      try {
        const { packages } = await ask("search", { package: p.name, text, catalog });
        fill(packages[0].matches);
        more.remove();
      } catch (error) {
        more.disabled = false;
        status.textContent = error.message;
      }
    });
    return [list, more];
  }

  const failure = (error) => `The search failed: ${error.message || "the catalog is being loaded"}`;

  let listed; // the shown catalog: its name, the cards of its packages, and the found cards

  // showFound shows the cards of the found packages, with the matches. If the search failed, it shows all cards.
  function showFound({ text, packages, error }) {
    const { catalog, cards } = listed;
    listed.found = packages === undefined ? cards : packages.flatMap(({ name }) => cards.filter(({ p }) => p.name === name));
    const matches = new Map((packages ?? []).map((one) => [one.name, one]));
    for (const { p, element, part } of cards) {
      const one = matches.get(p.name);
      element.hidden = packages !== undefined && one === undefined;
      part.replaceChildren(...(one === undefined ? [] : matchPart(catalog, p, one)));
    }
    const elements = listed.found.map(({ element }) => element);
    byId("cards").replaceChildren(...elements, ...cards.map(({ element }) => element).filter((e) => e.hidden));
    const all = count(cards.length, "package");
    status.textContent = error ? failure(error) : packages === undefined ? all : `${elements.length} of ${all}`;
    byId("none").replaceChildren(...(elements.length === 0 && packages !== undefined ? noHits(text) : []));
  }

  // noHits returns the message for a search without results, with the packages whose names are most similar to a word.
  function noHits(text) {
    const words = text.toLowerCase().split(/\s+/);
    const pairs = (word) => new Set(Array.from({ length: Math.max(0, word.length - 1) }, (_, i) => word.slice(i, i + 2)));
    const likeness = (name) => Math.max(...words.map((word) => {
      const [a, b] = [pairs(word), pairs(name.toLowerCase())];
      return a.size + b.size === 0 ? 0 : (2 * [...a].filter((pair) => b.has(pair)).length) / (a.size + b.size);
    }));
    const nearest = listed.cards.map(({ p, element }) => ({ p, element, like: likeness(p.name) }))
      .filter(({ like }) => like >= 0.3)
      .sort((a, b) => b.like - a.like || (a.p.name < b.p.name ? -1 : 1))
      .slice(0, 3)
      .map(({ p, element }) => make("a", { href: element.querySelector("a").getAttribute("href") }, p.name));
    return [make("p", {}, `Nothing matches “${text}”.`),
      nearest.length > 0 && make("p", {}, "Did you mean ", joined(nearest), "?")].filter(Boolean);
  }

  // Milliseconds from a key to the search, because more keys may follow, and until the page shows that it is busy.
  const typing = 100;
  const patience = 400;
  const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

  let refreshing = Promise.resolve(); // the last search on the page
  let canceled = new AbortController(); // cancels it

  // refresh searches for the text in the search field. It replaces a search that has not ended.
  function refresh() {
    canceled.abort();
    canceled = new AbortController();
    if (!listed) return;
    byId("none").replaceChildren();
    main.removeAttribute("aria-busy");
    refreshing = searched() === "" ? showFound({}) : searchAgain(listed.catalog, canceled.signal);
  }

  async function searchAgain(catalog, signal) {
    const isOver = () => signal.aborted || listed?.catalog !== catalog;
    const late = setTimeout(() => { if (!isOver()) status.textContent = "Searching…"; }, patience);
    main.setAttribute("aria-busy", "true");
    try {
      await pause(typing);
      if (isOver()) return;
      const found = await find(catalog, signal);
      if (!isOver()) showFound(found);
    } catch (error) {
      if (!isOver()) status.textContent = failure(error);
    } finally {
      clearTimeout(late);
      if (!isOver()) main.removeAttribute("aria-busy");
    }
  }

  // searchEnds waits until no search is in progress.
  async function searchEnds() {
    for (let last; last !== refreshing;) {
      last = refreshing;
      await last;
    }
  }

  async function showPackages(catalog) {
    const search = () => find(catalog).catch((error) => ({ text: searched(), error }));
    let [{ packages }, found] = await Promise.all([ask("packages", { catalog }), search()]);
    while (found.text !== searched()) found = await search();
    const cards = packages.map((p) => card(catalog, p));
    return {
      title: `Packages of ${catalog}`,
      content: [make("h1", { tabindex: "-1" }, `Packages of ${catalog}`),
        ...withheld(catalog),
        make("div", { id: "none" }),
        make("ul", { id: "cards", class: "cards", role: "list" })],
      shown() {
        listed = { catalog, cards, found: cards };
        showFound(found);
      },
    };
  }

  // withheld lists the packages of a catalog that are not served because they are invalid.
  function withheld(catalog) {
    const held = catalogs.find((c) => c.name === catalog)?.withheld ?? [];
    if (held.length === 0) return [];
    return [make("details", { class: "notice" },
      make("summary", {}, `${count(held.length, "package is", "packages are")} withheld: not valid`),
      make("ul", {}, held.map((w) => make("li", {}, w.package || "(no package)",
        make("ul", {}, w.reasons.map((reason) => make("li", {}, reason)))))))];
  }

  // A package.

  // A cache of the last package: every bundle view needs its package.
  let known;

  async function packageOf(catalog, name) {
    if (known?.catalog !== catalog || known.name !== name) known = await ask("package", { catalog, package: name });
    return known;
  }

  function trail(...steps) {
    return make("nav", { "aria-label": "Path", class: "trail" },
      steps.flatMap((step, i) => (i === 0 ? [step] : [" / ", step])));
  }

  function notice(kind, message) {
    return make("div", { class: "notice", role: "note" }, `This ${kind} is deprecated. ${message ?? ""}`);
  }

  function badges(b) {
    return [b.head && badge("head", "head"), b.deprecated && badge("deprecated", "deprecated"),
      b.skipped && badge("skipped", "skipped"), b.outside && badge("not in the channel", "outside"),
      b.missing && badge("not in the catalog", "missing")];
  }

  // next returns the next update of a bundle, with a link.
  function next(p, channel, fate) {
    if (!fate?.next && fate?.error) return make("span", {}, `error: ${fate.error}`);
    if (!fate?.next) return make("span", { class: "quiet" }, "stays");
    const words = [fate.by];
    const end = fate.end === channel.head ? "the head" : fate.end;
    if (fate.loop) words.push("then in a loop forever");
    else if (fate.hops > 1) words.push(`${count(fate.hops, "update")} to ${end}`);
    if (fate.error) words.push(`then error: ${fate.error}`);
    return [bundleLink(p, fate.next, channel.name), make("span", { class: "quiet" }, ` (${words.join("; ")})`)];
  }

  function channelTable(p, channel) {
    const rows = channel.bundles.map((b) => [
      b.missing ? b.name : bundleLink(p, b.name, channel.name), b.version, badges(b), // narrow pages omit empty cells
      next(p, channel, b.classic), next(p, channel, b.v1)]);
    return make("div", { class: "scroll tall updates", tabindex: "0", role: "region", "aria-label": "Versions" },
      table(`${count(rows.length, "bundle")}, the highest version first, and where each updates to`,
        ["Bundle", "Version", "State", "OLM Classic", "OLM v1"], rows));
  }

  function channelTabs(p, current) {
    const tab = (c) => make("a",
      { href: packageLink(p.catalog, p.name, c.name), "aria-current": c === current && "true" },
      c.name, c.version && ` ${c.version}`,
      c.name === p.defaultChannel && " (default)", c.deprecated && " (deprecated)");
    return make("nav", { "aria-label": "Channels" },
      make("ul", { class: "tabs", role: "list" }, p.channels.map((c) => make("li", {}, tab(c)))));
  }

  function channelPart(p, channel) {
    const drawing = (more) => `ui/v1/graph?${new URLSearchParams({ catalog: p.catalog, package: p.name, ...more })}`;
    const one = { channel: channel.name };
    return [
      make("h3", { id: "channel" }, `Channel ${channel.name}`),
      channel.deprecated && notice("channel", channel.deprecation),
      channel.refused && make("div", { class: "notice" }, `OLM Classic refuses this channel: ${channel.refused}`),
      channelTable(p, channel),
      make("h3", {}, "Upgrade graph"),
      make("p", {}, make("a", { href: drawing(one) }, "Open by itself"), " · ",
        make("a", { href: drawing({}) }, "All channels"), " · ",
        make("a", { href: drawing({ ...one, format: "svg" }) }, "SVG")),
      make("iframe", { src: drawing(one), title: `Upgrade graph of channel ${channel.name}`, loading: "lazy" }),
    ];
  }

  function packageTitle(p) {
    const icon = letter(p.displayName || p.name);
    icon.classList.add("large");
    if (p.icon) showIcon(icon, p.icon);
    const title = p.displayName || p.name;
    return make("div", { class: "title" }, icon, make("div", { class: "text" },
      make("h1", { tabindex: "-1" }, title), about(p, title)));
  }

  async function showPackage({ catalog, package: name, channel: wanted }) {
    const p = await packageOf(catalog, name);
    const channel = p.channels.find((c) => c.name === wanted) ?? p.channels.find((c) => c.name === p.defaultChannel)
      ?? p.channels[0];
    if (wanted !== undefined && channel?.name !== wanted) throw new Missing(wanted);
    return {
      title: `${p.displayName || p.name} (${catalog})`,
      content: [
        trail(make("a", { href: link({ catalog }) }, catalog), p.name),
        packageTitle(p),
        p.deprecated && notice("package", p.deprecation),
        facts([
          ["New users get", p.head && bundleLink(p, p.head, p.defaultChannel)],
          ["Default channel", p.defaultChannel],
        ]),
        make("h2", {}, "Channels"),
        channelTabs(p, channel),
        ...(channel ? channelPart(p, channel) : [make("p", {}, "There are none.")]),
        p.description && [make("h2", {}, "Description"), prose(p.description)],
      ].flat(),
    };
  }

  // A bundle.

  // updatesOf returns a row for each channel that names a bundle.
  function updatesOf(p, name) {
    return p.channels.flatMap((channel) => {
      const b = channel.bundles.find((one) => one.name === name);
      if (!b) return [];
      const from = channel.bundles.filter((one) => one.classic?.next === name || one.v1?.next === name);
      const to = make("a", { href: packageLink(p.catalog, p.name, channel.name) }, channel.name);
      return [[make("span", {}, to, " ", badges(b)), next(p, channel, b.classic), next(p, channel, b.v1),
        from.length === 0 ? make("span", { class: "quiet" }, "nothing") : joined(from.map((one) =>
          (one.missing ? one.name : bundleLink(p, one.name, channel.name))))]];
    });
  }

  const codes = (texts) => joined(texts.map((text) => make("code", {}, text)));

  function entryRows(entries) {
    return entries.map((e) => [e.channel, e.replaces ? make("code", {}, e.replaces) : "", codes(e.skips ?? []),
      e.skipRange ? make("code", {}, e.skipRange) : ""]);
  }

  function kindTable(caption, kinds) {
    if (!kinds) return [];
    return [make("h3", {}, caption), make("div", { class: "scroll" }, table(count(kinds.length, "kind"),
      ["Kind", "Version", "Name", "Description"], kinds.map((k) => [k.kind, k.version, k.name ?? "",
        [k.displayName && `${k.displayName}. `, k.description ?? ""]])))];
  }

  function value(p) {
    if (p.value === undefined) return make("span", { class: "quiet" }, `${p.bytes.toLocaleString("en")} bytes`);
    const text = JSON.stringify(p.value, null, 1).replaceAll(/\n\s*/g, " ");
    if (text.length <= 200) return make("code", {}, text);
    return make("details", {}, make("summary", {}, `${text.slice(0, 80)}…`),
      make("pre", {}, JSON.stringify(p.value, null, 2)));
  }

  // listTable returns a table, which is folded if it is long.
  function listTable(title, number, heads, rows) {
    if (rows.length === 0) return [];
    const content = make("div", { class: "scroll" }, table(number, heads, rows));
    return [make("h2", {}, title), rows.length <= 12 ? content
      : make("details", {}, make("summary", {}, `Show ${number}`), content)];
  }

  // dependencyPart lists the dependencies of a bundle, and the packages of the catalog that satisfy them.
  function dependencyPart(catalog, { all, error }) {
    if (error) return [make("h2", {}, "Dependencies"), make("div", { class: "notice" }, `OLM cannot read them: ${error}`)];
    const by = (names) => (names.length === 0 ? badge("nothing in this catalog", "missing")
      : joined(names.map((name) => make("a", { href: packageLink(catalog, name) }, name))));
    return listTable("Dependencies", count(all.length, "dependency", "dependencies"), ["Requires", "Satisfied by"],
      all.map((d) => [d.requires, by(d.satisfiedBy)]));
  }

  const person = (m) => (m.email ? outLink(`mailto:${m.email}`, m.name || m.email) : m.name ?? "");

  async function showBundle({ catalog, package: name, bundle, channel }) {
    const [p, b] = await Promise.all([
      packageOf(catalog, name), ask("bundle", { catalog, package: name, name: bundle })]);
    const { csv } = b;
    const raw = `catalogs/${encodeURIComponent(catalog)}/api/v1/metas?${new URLSearchParams({
      schema: "olm.bundle", package: name, name: bundle })}`;
    const node = p.channels.flatMap((c) => c.bundles).find((one) => one.name === bundle);
    return {
      title: `${bundle} (${catalog})`,
      content: [
        trail(make("a", { href: link({ catalog }) }, catalog),
          make("a", { href: packageLink(catalog, name, channel) }, p.displayName || name), bundle),
        make("h1", { tabindex: "-1" }, bundle),
        node?.deprecated && notice("bundle", node.deprecation),
        facts([
          ["Version", b.version], ["Image", b.image && make("code", {}, b.image)],
          ["Provider", csv.provider], ["Maturity", csv.maturity], ["Capabilities", csv.capabilities],
          ["Categories", csv.categories], ["Kubernetes", csv.minKubeVersion && `${csv.minKubeVersion} or newer`],
          ["Watches", (csv.installModes ?? []).join(", ")], ["Keywords", (csv.keywords ?? []).join(", ")],
          ["Links", joined((csv.links ?? []).map((l) => outLink(l.url ?? "", l.name || l.url || "")))],
          ["Maintainers", joined((csv.maintainers ?? []).map(person))],
          ["JSON", make("a", { href: raw }, "this object")],
        ]),
        make("h2", {}, "Updates"),
        make("div", { class: "scroll" },
          table("Where it updates to when it is installed and follows the channel, and what updates to it",
            ["Channel", "Next in OLM Classic", "Next in OLM v1", "Updated from"], updatesOf(p, bundle))),
        ...listTable("Entries", count(b.entries.length, "channel"), ["Channel", "Replaces", "Skips", "SkipRange"],
          entryRows(b.entries)),
        ...dependencyPart(catalog, b.dependencies),
        (csv.owned || csv.required) && make("h2", {}, "APIs"),
        ...kindTable("Provided", csv.owned), ...kindTable("Required", csv.required),
        ...listTable("Properties", count(b.properties.length, "property", "properties"), ["Type", "Value"],
          b.properties.map((one) => [one.type, value(one)])),
        ...listTable("Images", count(b.relatedImages.length, "image"), ["Name", "Image"],
          b.relatedImages.map((i) => [i.name ?? "", make("code", {}, i.image)])),
        csv.description && [make("h2", {}, "Description"), prose(csv.description)],
      ].flat(),
    };
  }

  // The matrix of packages and catalogs.

  // matrixCell returns the head of a package in a catalog, with its channel if the row has several channels.
  function matrixCell(catalog, row) {
    const head = row.heads.find((one) => one.catalog === catalog);
    if (!head) return make("span", { class: "quiet" }, "missing");
    const channel = row.heads.some((other) => other.channel !== head.channel) && ` in ${head.channel}`;
    return make("span", {},
      make("a", { href: link({ catalog, package: row.package }), title: head.bundle }, head.version || head.bundle),
      channel, head.older && [" ", badge("older", "older")]);
  }

  // differs reports whether a package is missing in a catalog, or has heads of different versions.
  function differs(row, names) {
    const { heads: [first, ...others] } = row;
    return others.length + 1 < names.length || others.some((head) =>
      head.channel !== first.channel || (head.version || head.bundle) !== (first.version || first.bundle));
  }

  async function showMatrix() {
    const { catalogs: names, rows } = await ask("matrix", {});
    const packageCell = ({ package: name, heads }) => make("a", { href: packageLink(heads[0].catalog, name) }, name);
    const grid = table(count(rows.length, "package"), ["Package", ...names],
      rows.map((row) => [packageCell(row), ...names.map((name) => matrixCell(name, row))]));
    const box = make("input", { type: "checkbox", id: "differences" });
    const equal = [...grid.tBodies[0].rows].filter((_, i) => !differs(rows[i], names));
    box.addEventListener("change", () => {
      for (const row of equal) row.hidden = box.checked;
      const all = count(rows.length, "package");
      grid.caption.textContent = box.checked ? `${rows.length - equal.length} of ${all}` : all;
    });
    return {
      title: "Compare catalogs",
      content: [make("h1", { tabindex: "-1" }, "Compare catalogs"),
        make("p", {}, "The heads of the default channels. A version is older if another catalog has a higher one."),
        make("p", {}, make("label", {}, box, " Only differences")),
        make("div", { class: "scroll tall matrix", tabindex: "0", role: "region", "aria-label": "Heads" }, grid)],
    };
  }

  // Navigation.

  let catalogs = [];
  let turn = 0; // number of the current navigation; a response to an earlier one is dropped
  let first = true;

  async function loadCatalogs() {
    ({ catalogs } = await ask("catalogs", {}));
    byId("catalog").replaceChildren(...catalogs.map((c) => make("option", { value: c.name }, c.name)));
    byId("catalog-label").hidden = byId("compare").hidden = catalogs.length < 2;
  }

  function viewOf(at) {
    if (at.compare !== undefined) return showMatrix();
    if (at.bundle !== undefined) return showBundle(at);
    if (at.package !== undefined) return showPackage(at);
    return showPackages(at.catalog);
  }

  // wait is the delay in milliseconds before the next request while the catalogs are being loaded.
  const wait = 1000;

  function failed(error) {
    if (error instanceof Loading) {
      return {
        title: "Loading",
        content: [make("h1", { tabindex: "-1" }, "The catalog is being loaded"),
          make("p", {}, "It opens here as soon as it is there.")],
      };
    }
    const missing = error instanceof Missing;
    return {
      title: missing ? "Not found" : "Failure",
      content: [make("h1", { tabindex: "-1" }, missing ? "Not found" : "That did not work"),
        make("p", {}, missing ? `There is no ${error.message} here.` : error.message),
        make("p", {}, make("a", { href: "#" }, "All packages"))],
    };
  }

  async function go() {
    const mine = ++turn;
    const at = place();
    if (queryField.value !== (at.search ?? "")) queryField.value = at.search ?? "";
    let view;
    main.setAttribute("aria-busy", "true");
    const late = setTimeout(() => { if (mine === turn) status.textContent = "Loading…"; }, patience);
    try {
      if (catalogs.length === 0) await loadCatalogs();
      if (catalogs.length === 0) throw new Loading();
      at.catalog ??= catalogs[0].name;
      view = await viewOf(at);
    } catch (error) {
      view = failed(error);
      if (error instanceof Loading) setTimeout(() => { if (mine === turn) arrive(); }, wait);
    }
    clearTimeout(late);
    if (mine !== turn) return;
    main.removeAttribute("aria-busy");
    byId("catalog").value = at.catalog ?? "";
    byId("home").href = at.catalog === undefined ? "#" : link({ catalog: at.catalog });
    listed = undefined;
    canceled.abort();
    status.textContent = "";
    document.title = view.title;
    main.replaceChildren(...view.content.filter(Boolean));
    view.shown?.();
    if (!first && document.activeElement !== queryField) { // screen readers then read the new view
      main.querySelector("h1")?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    first = false;
  }

  let arrival; // the end of the last navigation
  const arrive = () => { arrival = go(); };

  window.addEventListener("hashchange", arrive);
  byId("catalog").addEventListener("change", (event) => {
    const { package: name } = place();
    const catalog = event.target.value;
    location.hash = name === undefined ? packagesLink(catalog, queryField.value) : packageLink(catalog, name);
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });

  // A search shows the packages, whatever the current view. The address has the query, for links and the Back button.
  function search() {
    const { catalog, package: name, compare } = place();
    const isMissing = catalog !== undefined && catalogs.length > 0 && catalogs.every((one) => one.name !== catalog);
    const to = packagesLink(isMissing ? catalogs[0].name : catalog, queryField.value);
    refresh();
    if (name === undefined && compare === undefined && !isMissing) history.replaceState(null, "", to);
    else {
      // The event comes later, perhaps after Enter, which waits for the arrival.
      arrival = new Promise((resolve) => {
        window.addEventListener("hashchange", () => resolve(arrival), { once: true });
      });
      location.hash = to;
    }
  }
  queryField.addEventListener("input", search);
  byId("search").addEventListener("submit", async (event) => {
    event.preventDefault();
    await arrival;
    await searchEnds();
    const hit = listed?.found[0];
    if (!hit || searched() === "") return;
    queryField.blur(); // so that the focus goes to what is opened
    hit.element.querySelector("a").click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    queryField.focus();
  });

  arrive();
})();
