/** DOM from plain values. What the server says only ever becomes text and attribute values, never markup. */
const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "open", "required", "multiple"]);

// Control characters, direction overrides and invisible spaces: shown by number, so that no name can dress up as another.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;
const byNumber = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** The text with every invisible character made visible. */
export const visible = (text) => String(text).replace(UNSEEN, byNumber);

/** The text, visible and at most so long. */
export function shortened(text, most = 60) {
  const letters = [...visible(text)];
  return letters.length <= most ? letters.join("") : `${letters.slice(0, most - 1).join("")}…`;
}

function place(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "on") {
    for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
  } else if (PROPERTIES.has(name)) {
    node[name] = value;
  } else if (name === "href" && !/^(#|\/(?![\/\\]))/u.test(value)) {
    throw new Error("links of this page lead to this service only");
  } else {
    const written = value === true ? "" : String(value);
    node.setAttribute(name, name === "href" ? written : visible(written));
  }
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) place(node, name, value);
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : visible(child));
  }
  // A select takes its value only once it has its options
  if (node.localName === "select" && attributes?.value !== undefined) node.value = attributes.value;
  return node;
}

/** An HTML element with attributes, listeners under `on`, and children: nodes, text, or lists of them. */
export const element = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);

/** The same for SVG. */
export const drawn = (name, attributes, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

/** A name that somebody chose: kept apart from the text around it, whichever way it is written. */
export function called(text, most = 120) {
  const long = [...visible(text)].length > most;
  return element("bdi", { class: "name", title: long ? shortened(text, 2000) : null }, shortened(text, most));
}

/** Several names, with commas. */
export const calledAll = (names) => names.flatMap((name, at) => (at ? [", ", called(name)] : [called(name)]));

let count = 0;
/** An id that nothing else on the page has. */
export const freshId = (stem) => `${stem}-${(count += 1)}`;
