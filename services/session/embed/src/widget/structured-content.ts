import { safeUrl, shownText } from './markdown.ts';

export type Button = { label: string; url: string } | { label: string; value: string };

export interface Card {
  kind: 'card';
  title: string;
  subtitle: string | undefined;
  body: string | undefined;
  imageUrl: string | undefined;
  buttons: Button[];
}

export interface Table {
  kind: 'table';
  columns: string[];
  /** Each row has one cell for each column. */
  rows: string[][];
  /** Numbers of rows and columns that are omitted, because the table is too large. */
  more: { rows: number; columns: number };
}

export interface List {
  kind: 'list';
  items: { title: string; description: string | undefined; url: string | undefined }[];
  /** Number of items that are omitted, because the list is too long. */
  more: number;
}

const maxButtons = 20;
const maxItems = 500;
const maxColumns = 50;
/** Maximum number of cells in a table. The browser takes about 0.1 ms for each cell. */
const maxCells = 2_000;

/** Parses `structuredContent` of a reply. Returns undefined if it is invalid; the text of the reply has the same content. */
export function readStructuredContent(value: unknown): Card | Table | List | undefined {
  if (!isObject(value)) return undefined;
  if (value['kind'] === 'card') return readCard(value);
  if (value['kind'] === 'table') return readTable(value);
  if (value['kind'] === 'list') return readList(value);
  return undefined;
}

function readCard({ title, subtitle, body, imageUrl, buttons }: Record<string, unknown>): Card | undefined {
  const shownTitle = text(title);
  if (shownTitle === undefined) return undefined;
  return {
    kind: 'card',
    title: shownTitle,
    subtitle: text(subtitle),
    body: text(body),
    imageUrl: safeUrl(imageUrl),
    buttons: array(buttons).slice(0, maxButtons).flatMap(readButton),
  };
}

/** Parses a button. Returns an empty array if the button is invalid. An unsafe URL is ignored. */
function readButton(button: unknown): Button[] {
  if (!isObject(button)) return [];
  const label = text(button['label']);
  const url = safeUrl(button['url']);
  const { value } = button;
  if (label === undefined) return [];
  if (url !== undefined) return [{ label, url }];
  return typeof value === 'string' && value.trim() !== '' ? [{ label, value }] : [];
}

function readTable({ columns, rows }: Record<string, unknown>): Table | undefined {
  const [allColumns, allRows] = [array(columns), array(rows)];
  const names = allColumns.slice(0, maxColumns).map(scalar);
  if (names.length === 0) return undefined;
  const cells = allRows
    .slice(0, Math.floor(maxCells / names.length))
    .map((row) => names.map((_, index) => scalar(array(row)[index])));
  const more = { rows: allRows.length - cells.length, columns: allColumns.length - names.length };
  return { kind: 'table', columns: names, rows: cells, more };
}

function readList({ items }: Record<string, unknown>): List | undefined {
  const all = array(items);
  const read = all.slice(0, maxItems).flatMap((item) => {
    const title = isObject(item) ? text(item['title']) : undefined;
    if (!isObject(item) || title === undefined) return [];
    return [{ title, description: text(item['description']), url: safeUrl(item['url']) }];
  });
  return read.length === 0 ? undefined : { kind: 'list', items: read, more: Math.max(0, all.length - maxItems) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function array(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? shownText(value) : undefined;
}

function scalar(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? shownText(String(value))
    : '';
}
