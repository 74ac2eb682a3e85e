// Questions to a person, each with fields.

import { element } from "./elements.js";

/**
 * @typedef {{name: string, label: string, type?: string, value?: any, required?: boolean, hint?: string,
 *   options?: Array<string | {value: string, label: string}>, lines?: number}} Question
 * @typedef {{title: string, text?: any, fields?: Question[], action: string, danger?: boolean, wide?: boolean,
 *   only?: boolean,
 *   check?: (values: Record<string, any>) => Promise<any>}} Questions
 */

/** A control with its label. @param {Question} field */
export function control(field) {
  const id = `ask-${field.name}`;
  let input;
  if (field.options) {
    const options = field.options.map((one) => (typeof one === "string" ? { value: one, label: one } : one));
    input = element("select", { id, name: field.name },
      options.map((one) => element("option", { value: one.value, selected: one.value === field.value }, one.label)));
  } else if (field.lines) {
    input = element("textarea", { id, name: field.name, rows: field.lines, value: field.value ?? "", required: field.required, spellcheck: "false" });
  } else if (field.type === "checkbox") {
    input = element("input", { id, name: field.name, type: "checkbox", checked: Boolean(field.value) });
    return element("p", { class: "field check" }, input, element("label", { for: id }, field.label));
  } else {
    input = element("input", {
      id, name: field.name, type: field.type ?? "text", value: field.value ?? "", required: field.required,
      autocomplete: field.type === "password" ? "current-password" : "off", spellcheck: "false", autocapitalize: "off",
    });
  }
  return element("p", { class: "field" }, element("label", { for: id }, field.label), input,
    field.hint ? element("span", { class: "hint" }, field.hint) : null);
}

/** The values of a form's controls. @param {HTMLFormElement} form @returns {Record<string, any>} */
export function values(form) {
  const found = {};
  for (const one of /** @type {any} */ (form.elements)) {
    if (one.name) found[one.name] = one.type === "checkbox" ? one.checked : one.value;
  }
  return found;
}

/** What takes the focus to the same control, once what is around it was made anew; else to the heading. @param {HTMLElement | null} view @returns {() => void} */
export function keepFocus(view) {
  const held = /** @type {HTMLElement | null} */ (document.activeElement);
  if (!view || !held || held === document.body || !view.contains(held)) return () => {};
  const name = (one) => one.getAttribute("aria-label") ?? one.textContent;
  const [id, text, kind] = [held.id, name(held), held.tagName];
  return () => {
    if (document.activeElement !== document.body && document.activeElement?.isConnected) return;
    const same = held.isConnected ? held : id ? document.getElementById(id)
      : kind === "H1" ? null : [.../** @type {any} */ (view.querySelectorAll(kind))].find((one) => name(one) === text);
    /** @type {HTMLElement | null} */ (same ?? view.querySelector("h1"))?.focus({ preventScroll: true });
  };
}

/**
 * The values that were given; null: the person went back, or left the view. `only`: there is nothing to decide, so there is one button. `check` may throw, with a message that is shown, and the question stays.
 * @param {Questions} questions @returns {Promise<Record<string, any> | null>}
 */
export function ask(questions) {
  return new Promise((resolve) => {
    const problem = element("p", { class: "problem", role: "alert" });
    const main = element("button", { class: questions.danger ? "danger" : "main" }, questions.action);
    const back = element("button", { type: "button", class: "quiet", autofocus: questions.danger && !questions.fields?.length, onclick: () => dialog.close() }, "Cancel");
    const focus = keepFocus(document.getElementById("content"));
    const leave = () => dialog.close();
    const form = element("form", { method: "dialog" },
      element("h2", {}, questions.title),
      typeof questions.text === "string" ? element("p", {}, questions.text) : questions.text,
      (questions.fields ?? []).map(control), problem,
      element("p", { class: "row" }, main, questions.only ? null : back));
    const dialog = element("dialog", { class: questions.wide ? "wide" : null, "aria-label": questions.title }, form);
    let given = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      main.disabled = true;
      problem.textContent = "";
      const found = values(form);
      try {
        await questions.check?.(found);
        given = found;
        dialog.close();
      } catch (error) {
        problem.textContent = error instanceof Error ? error.message : String(error);
      }
      main.disabled = false;
    });
    addEventListener("hashchange", leave);
    dialog.addEventListener("close", () => {
      removeEventListener("hashchange", leave);
      dialog.remove();
      focus();
      resolve(given);
    });
    document.body.append(dialog);
    dialog.showModal();
    // What gets the focus may lie far below its title.
    dialog.scrollTop = 0;
  });
}
