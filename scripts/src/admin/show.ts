import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf';

/** An answer for people: lists as tables, the rest line by line. */
export function shown(answer: JsonObject, type: DescMessage): string {
  const isOneOfMany = type.fields.filter(({ fieldKind, message }) => fieldKind === 'list' && message).length > 1;
  const parts = type.fields.flatMap(({ jsonName, message, fieldKind }) => {
    const value = answer[jsonName];
    if (value === undefined) return [];
    const heading = isOneOfMany ? `${jsonName}\n` : '';
    if (fieldKind === 'list' && message) return heading + table(value as JsonObject[], message);
    if (fieldKind === 'message' && message) return lines(value as JsonObject, message);
    const [, following] = /^next(\w+)$/.exec(jsonName) ?? [];
    return following
      ? `more: --${following.toLowerCase()} ${value}\n`
      : `${wordsOf(jsonName)}: ${cell(jsonName, value)}\n`;
  });
  return parts.join('\n') || 'done\n';
}

function lines(row: JsonObject, { fields }: DescMessage): string {
  return aligned(
    fields.map(({ jsonName }) => [wordsOf(jsonName), cell(jsonName, row[jsonName])]).filter(([, text]) => text),
  );
}

/** Without columns that are empty in every row. */
function table(rows: JsonObject[], { fields }: DescMessage): string {
  const columns = fields.map(({ jsonName }) => [
    wordsOf(jsonName),
    ...rows.map((row) => cell(jsonName, row[jsonName])),
  ]);
  const used = columns.filter(([, ...cells]) => cells.some(Boolean));
  if (rows.length === 0) return 'none\n';
  return aligned(Array.from({ length: rows.length + 1 }, (_, n) => used.map((column) => column[n] ?? '')));
}

function aligned(rows: string[][]): string {
  const widths = rows.reduce<number[]>((all, row) => row.map((text, n) => Math.max(all[n] ?? 0, text.length)), []);
  return rows
    .map(
      (row) =>
        `${row
          .map((text, n) => text.padEnd(widths[n] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function wordsOf(name: string): string {
  return name.replace(/E8$|Json$/, '').replaceAll(/[A-Z]+/g, (letters) => ` ${letters.toLowerCase()}`);
}

function cell(name: string, value: JsonValue | undefined): string {
  if (value === undefined || value === false) return '';
  if (value === true) return 'yes';
  const text = name.endsWith('UsdE8')
    ? usdOf(BigInt(String(value)))
    : Array.isArray(value)
      ? value.join(', ')
      : String(value);
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd'); // names are chosen by users
}

function usdOf(e8: bigint): string {
  const digits = String(e8).padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8).replace(/0{1,6}$/, '')}`;
}
