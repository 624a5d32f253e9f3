// Searches the pages in the browser, without a server: pages comes from a script that the site contains.
"use strict";

const root = new URL(".", document.currentScript.src);
const field = document.getElementById("site-search");
const list = document.getElementById("site-found");
field.hidden = false;

// score returns how much a page is about the words: 0 if it lacks one, and more for words in its title.
function score(page, words) {
	const text = page.text.toLowerCase();
	const title = page.title.toLowerCase();
	const scores = words.map((word) =>
		(title.includes(word) ? 10 : 0) + (text.split(word).length - 1) / Math.sqrt(text.length));
	return scores.includes(0) ? 0 : scores.reduce((sum, s) => sum + s);
}

function excerpt(text, word) {
	const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
	return (at > 0 ? "…" : "") + text.slice(at, at + 140) + "…";
}

function row(page, words) {
	const item = document.createElement("li");
	const link = document.createElement("a");
	link.href = new URL(page.path, root);
	link.textContent = page.title;
	item.append(link, document.createElement("br"), excerpt(page.text, words[0]));
	return item;
}

function search() {
	const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
	list.hidden = words.length === 0;
	if (list.hidden) return;
	const found = pages.map((page) => ({ page, score: score(page, words) })).filter((f) => f.score > 0);
	found.sort((a, b) => b.score - a.score);
	list.replaceChildren(...found.slice(0, 20).map((f) => row(f.page, words)));
	if (found.length === 0) list.textContent = "No page has all of these words.";
}

field.addEventListener("input", search);
