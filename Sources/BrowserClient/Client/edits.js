// What an edit does to a record, what it is based on, and what becomes of the edits behind it: values in, values out.
// An edit is {number, collection, id, operation, fields, base, baseRev, sequence}; a record {id, rev, fields}.
// Of one record only one edit is under way at a time, because the next one's base is what becomes of the first.

import { PorticoError } from "./errors.js";

/** A base that the server finds to be none of its revisions: the change would meet something unknown. */
export const unknownBase = 0;

export function applied(edit, record) {
  switch (edit.operation) {
    case "create": return { id: edit.id, rev: record?.rev ?? 0, fields: edit.fields };
    case "update": return record && { ...record, fields: { ...record.fields, ...edit.fields } };
    default: return null;
  }
}

/** The record as the server has it, as far as is known: the row, under what was acknowledged since. */
export function settled(row, acknowledged) {
  return acknowledged.reduce((record, known) => {
    if (known.rev <= (record?.rev ?? -1)) return record;
    const after = applied(known, record);
    return after && { ...after, rev: known.rev };
  }, row ? { id: row.id, rev: row.rev, fields: row.fields } : null);
}

/** The record as a person is to see it. */
export function overlay(row, acknowledged, edits) {
  const record = edits.reduce((before, edit) => applied(edit, before), settled(row, acknowledged));
  return record && { ...record, isPending: edits.length > 0 };
}

/** The record with its key among its fields, as the server's have it: one that was made here may lack it. */
export function keyed(record, description) {
  if (!record || !description || idIn(record.fields, description) !== null) return record;
  const { [description.key]: _, ...fields } = record.fields;
  const isNumber = description.fields[description.key] === "integer";
  return { ...record, fields: { [description.key]: isNumber ? Number(record.id) : record.id, ...fields } };
}

/** The id that the key field names, or null. */
export function idIn(fields, description) {
  const value = fields?.[description?.key];
  return value === undefined || value === null ? null : `${value}`;
}

/** Throws where the server would refuse the edit, as far as its description of the collection tells. */
export function check({ operation, id, fields }, description) {
  if (!description || !fields) return;
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(description.fields, name));
  if (unknown !== undefined) throw new PorticoError("client.unknownField", `There is no field ${unknown}.`);
  if (operation === "create" && description.fields[description.key] === "integer" && !/^-?\d+$/.test(id)) {
    throw new PorticoError("client.idNotANumber", "The collection's ids are numbers.");
  }
  const named = idIn(fields, description);
  if (named !== null && named !== id) {
    throw new PorticoError("client.keyDiffers", `The field ${description.key} is not the record's id.`);
  }
}

/** An edit of `record`, the server's; behind `earlier`, the last edit of the same record that still waits. */
export function draft(change, record, earlier) {
  const base = earlier ? earlier.base : record;
  const baseRev = (earlier ? earlier.baseRev : record?.rev) ?? null;
  return { ...change, base, baseRev: change.operation === "create" ? baseRev : baseRev ?? unknownBase, sequence: null };
}

export function mutation({ sequence, operation, collection, id, baseRev, fields }) {
  const sent = { sequence, operation, collection, id };
  if (operation !== "create") sent.baseRev = baseRev;
  if (operation !== "delete") sent.fields = fields;
  return sent;
}

/** The first of each record. Those that were sent before go first, in the order in which they were. */
export function batch(edits, limit) {
  const firsts = new Map();
  for (const edit of edits) {
    const key = JSON.stringify([edit.collection, edit.id]);
    if (!firsts.has(key)) firsts.set(key, edit);
  }
  const all = [...firsts.values()];
  const sent = all.filter((edit) => edit.sequence !== null).sort((one, other) => one.sequence - other.sequence);
  return [...sent, ...all.filter((edit) => edit.sequence === null)].slice(0, limit);
}

/** What came of an edit that the server made: how it shows until a pull has it, and the bases of those behind it. */
export function acknowledge(edit, outcome, behind) {
  const rev = outcome.rev ?? outcome.record?.rev ?? edit.baseRev ?? 0;
  const expected = applied(edit, edit.base);
  const known = expected && { id: edit.id, rev, fields: outcome.record?.fields ?? expected.fields };
  const foreign = outcome.outcome === "merged" ? changedFields(known, expected) : new Set();
  return {
    shown: known && edit.operation !== "delete"
      ? { ...edit, operation: "create", fields: known.fields, rev } : { ...edit, rev },
    rebased: behind.filter((later) => !stayedBehind(later, edit) && !meets(later, foreign)).map((later) =>
      ({ ...later, base: known, baseRev: known?.rev ?? unknownBase })),
  };
}

/** It kept an earlier base because it met what others had changed, and keeps it for good. */
function stayedBehind(later, edit) {
  return later.baseRev !== null && edit.baseRev !== null && later.baseRev < edit.baseRev;
}

/** Whether an edit, made without knowing of them, would undo what others changed. */
function meets(edit, foreign) {
  if (foreign.size === 0) return false;
  return edit.operation === "delete" || Object.keys(edit.fields).some((name) => foreign.has(name));
}

function changedFields(known, expected) {
  const names = Object.keys(known?.fields ?? {});
  return new Set(names.filter((name) => expected && !same(known.fields[name], expected.fields[name])));
}

/** The waiting edit on a replica that started over: a base counts only where the record is still as it was. */
export function rebased(edit, row) {
  if (edit.baseRev === null) return edit;
  if (!row || !same(row.fields, edit.base?.fields)) return { ...edit, baseRev: unknownBase };
  return { ...edit, base: { id: row.id, rev: row.rev, fields: row.fields }, baseRev: row.rev };
}

/** The edit of a record that has another id now; `row`: the server's under that. It is the base where it has what the base had. */
export function moved(edit, id, row, description) {
  const key = description?.key;
  const isNumber = description?.fields[key] === "integer";
  const others = (fields) => Object.fromEntries(
    Object.entries(fields ?? {}).filter(([name, value]) => name !== key && value !== null));
  const isBase = row && edit.base && same(others(row.fields), others(edit.base.fields));
  const result = { ...edit, id };
  if (edit.fields && key in edit.fields) result.fields = { ...edit.fields, [key]: isNumber ? Number(id) : id };
  if (isBase) Object.assign(result, { base: { id, rev: row.rev, fields: row.fields }, baseRev: row.rev });
  else if (edit.base) Object.assign(result, { base: { ...edit.base, id }, baseRev: unknownBase });
  return result;
}

export function same(one, other) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => key in other && same(one[key], other[key]));
}
