import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';

/** Formats a response as tables for people. */
export function shown(answer: JsonObject, { fields }: DescMessage): string {
  const hasManyTables = fields.filter(({ message }) => message).length > 1;
  const parts = fields.flatMap(({ jsonName, message }) => {
    const value = answer[jsonName];
    if (value === undefined) return [];
    if (message) return `${hasManyTables ? `${jsonName}\n` : ''}${table([value].flat() as JsonObject[], message)}`;
    const [, following] = /^next(\w+)$/.exec(jsonName) ?? [];
    return following
      ? `more: --${following.toLowerCase()} ${value}\n`
      : `${wordsOf(jsonName)}: ${cell(jsonName, value)}\n`;
  });
  return parts.join('\n') || 'done\n';
}

/** Formats rows as a table, without columns that are empty in every row. */
function table(rows: JsonObject[], { fields }: DescMessage): string {
  const columns = fields
    .map(({ jsonName }) => [wordsOf(jsonName), ...rows.map((row) => cell(jsonName, row[jsonName]))])
    .filter(([, ...cells]) => cells.some(Boolean))
    .map((cells) => cells.map((text) => text.padEnd(Math.max(...cells.map(({ length }) => length)))));
  const lines = [undefined, ...rows].map((_, n) => columns.map((cells) => cells[n]).join('  '));
  return rows.length === 0 ? 'none\n' : lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function wordsOf(name: string): string {
  return name.replace(/E8$|Json$/, '').replaceAll(/[A-Z]+/g, (letters) => ` ${letters.toLowerCase()}`);
}

function cell(name: string, value: JsonValue = ''): string {
  if (typeof value === 'boolean') return value ? 'yes' : '';
  const text = name.endsWith('UsdE8') ? usdOf(String(value)) : [value].flat().join(', ');
  return printable(text);
}

/** Removes control characters. Names that users chose may contain some, and a terminal would act on such characters. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd');
}

function usdOf(e8: string): string {
  const digits = e8.padStart(9, '0');
  return e8 && `${digits.slice(0, -8)}.${digits.slice(-8).replace(/0{1,6}$/, '')}`;
}
