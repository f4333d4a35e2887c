import type { Row, Segment } from './pdf-rows.ts';

/** The properties of a pdf.js annotation that are used here. */
export interface Annotation {
  subtype?: string;
  rect?: number[];
  annotationFlags?: number;
  fieldType?: string;
  fieldName?: string;
  fieldValue?: unknown;
  alternativeText?: string;
  textContent?: string[];
  contentsObj?: { str?: string };
  checkBox?: boolean;
  radioButton?: boolean;
  pushButton?: boolean;
  exportValue?: string;
  buttonValue?: string;
  password?: boolean;
  options?: { exportValue?: unknown; displayValue?: unknown }[];
}

/** The visible text of a form field or of a free-text annotation, and its position. */
export interface Field {
  text: string;
  label: string;
  start: number;
  end: number;
  bottom: number;
  top: number;
}

/** Flags of annotations that are hidden or not shown on the screen. */
const hiddenFlags = 2 | 32;
/** If a page has more fields than this, the fields follow the page's text instead of being placed inside it. */
const maxPlaced = 2_000;
const usualSize = 10;

export function fieldsOf(annotations: Annotation[]): Field[] {
  const seen = new Set<string>();
  return annotations.flatMap((annotation) => {
    const { rect = [], annotationFlags = 0, alternativeText, fieldName } = annotation;
    if ((annotationFlags & hiddenFlags) !== 0) return [];
    const text = shownBy(annotation);
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = rect;
    const key = `${rect.join(' ')} ${text}`;
    if (text === '' || seen.has(key)) return [];
    seen.add(key);
    const label = alternativeText || (/^\p{L}[\p{L}\p{N} _-]*$/u.test(fieldName ?? '') ? fieldName : '') || '';
    const place = { start: Math.min(x1, x2), end: Math.max(x1, x2), bottom: Math.min(y1, y2), top: Math.max(y1, y2) };
    return [{ text, label: annotation.subtype === 'Widget' ? label : '', ...place }];
  });
}

function shownBy(annotation: Annotation): string {
  const { subtype, fieldType, fieldValue, textContent = [], contentsObj } = annotation;
  const shown = textContent.join('\n').trim();
  if (subtype === 'FreeText') return shown || contentsObj?.str?.trim() || '';
  if (subtype !== 'Widget') return '';
  if (fieldType === 'Btn') return buttonOf(annotation);
  if (annotation.password) return '';
  if (fieldType === 'Ch') return choiceOf(annotation);
  return fieldType === 'Tx' ? shown || textOf(fieldValue) : '';
}

function buttonOf({ checkBox, radioButton, fieldValue, exportValue, buttonValue }: Annotation): string {
  if (checkBox) return isOn(fieldValue) && (!exportValue || fieldValue === exportValue) ? '[x]' : '[ ]';
  if (radioButton) return isOn(fieldValue) && fieldValue === buttonValue ? '[x]' : '[ ]';
  return '';
}

function isOn(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value !== 'Off';
}

function choiceOf({ fieldValue, options = [] }: Annotation): string {
  const values = Array.isArray(fieldValue) ? fieldValue : [fieldValue];
  return values
    .map((value) => textOf(options.find(({ exportValue }) => exportValue === value)?.displayValue ?? value))
    .filter((text) => text !== '')
    .join(', ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll(/\r\n?/gu, '\n').trim() : '';
}

/**
 * Inserts a page's fields into its rows. A field joins the row whose baseline it covers, such as the row of its label. Without such a row,
 * it follows the nearest row above it.
 */
export function withFields(rows: Row[], fields: Field[]): Row[] {
  if (fields.length > maxPlaced) return [...rows, ...fields.map((field) => rowOf(field, true))];
  const places = rows.map(({ segments }) => ({
    y: segments[0]?.y ?? 0,
    size: segments[0]?.size ?? usualSize,
    start: segments[0]?.start ?? 0,
  }));
  const below = new Map<number, Field[]>();
  for (const field of fields) {
    const beside = nearest(places, ({ y, size }) => besideBy(field, y, size));
    const row = beside === undefined ? undefined : rows[beside];
    if (row) {
      insert(row, field);
      continue;
    }
    const above = nearest(places, ({ y }) => (y >= field.top ? y - field.top : undefined)) ?? -1;
    below.set(above, [...(below.get(above) ?? []), field]);
  }
  const inOrder = (at: number) => rowsBelow(below.get(at) ?? [], places[at]);
  return [...inOrder(-1), ...rows.flatMap((row, at) => [row, ...inOrder(at)])];
}

function nearest<T>(values: T[], distance: (value: T) => number | undefined): number | undefined {
  let found: { at: number; distance: number } | undefined;
  for (const [at, value] of values.entries()) {
    const own = distance(value);
    if (own !== undefined && (!found || own < found.distance)) found = { at, distance: own };
  }
  return found?.at;
}

/** Returns the distance between a row's baseline and the field's first line; undefined if the baseline is outside the field. */
function besideBy({ bottom, top }: Field, y: number, size: number): number | undefined {
  if (y < bottom - 0.5 * size || y > top - 0.2 * size) return undefined;
  const isTall = top - bottom > 2.5 * size;
  return Math.abs((isTall ? top - size : (bottom + top - size * 0.7) / 2) - y);
}

function insert({ segments }: Row, { text, start, end }: Field): void {
  const [first] = segments;
  if (!first || segments.some((segment) => segment.text.trim() === text && segment.start < end && start < segment.end))
    return;
  const at = segments.findIndex((segment) => segment.start > start);
  const segment: Segment = { text: text.replaceAll('\n', ' '), start, end, y: first.y, size: first.size };
  segments.splice(at === -1 ? segments.length : at, 0, segment);
}

function rowsBelow(fields: Field[], above: { y: number; size: number } | undefined): Row[] {
  const isNear = (field: Field) => above !== undefined && above.y - field.top < 1.5 * above.size;
  return fields
    .toSorted((a, b) => b.top - a.top || a.start - b.start)
    .map((field) => rowOf(field, !isNear(field), above?.size));
}

function rowOf({ text, label, start, end, bottom }: Field, withLabel: boolean, size = usualSize): Row {
  const shown = withLabel && label !== '' ? `${label}: ${text}` : text;
  return { segments: [{ text: shown, start, end, y: bottom, size }], isRightToLeft: false };
}
