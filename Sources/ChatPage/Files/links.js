// Addresses within a text as links. The text stays text: what is no address of the web is not touched.

import { element } from "/pages/elements.js";

const address = /https?:\/\/[^\s<>"'`]+/g;
/** What closes a sentence or a bracket around an address, and is none of it. */
const closing = /[.,:;!?)\]}]+$/;

/**
 * @param {string} text
 * @returns {(string | HTMLElement)[]} to append as they are
 */
export function withLinks(text) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(address)) {
    const found = match[0].replace(closing, "");
    if (!isAddress(found)) continue;
    pieces.push(text.slice(end, match.index), element("a", { href: found, target: "_blank", rel: "noopener noreferrer nofollow" }, found));
    end = (match.index ?? 0) + found.length;
  }
  return [...pieces, text.slice(end)].filter((piece) => piece !== "");
}

function isAddress(text) {
  try {
    return /^https?:$/.test(new URL(text).protocol);
  } catch {
    return false;
  }
}
