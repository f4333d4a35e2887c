/**
 * Hands on each record of a CSV text with `\n` as line break, several times as fast as csv-parse does.
 * @returns false where the text is not regular: a quoted cell that has no end, or text after its end. csv-parse decides then.
 */
export function scanCsv(text: string, delimiter: string, write: (record: string[]) => void): boolean {
  const placeOf = (what: string, from: number) => {
    const place = text.indexOf(what, from);
    return place === -1 ? text.length : place;
  };
  let record: string[] = [];
  let nextDelimiter = -1;
  let nextBreak = -1;
  for (let at = 0; at <= text.length; at += 1) {
    if (text[at] === '"') {
      const end = closingQuote(text, at + 1);
      if (end === -1) return false;
      record.push(text.slice(at + 1, end).replaceAll('""', '"'));
      at = end + 1;
    } else {
      if (nextDelimiter < at) nextDelimiter = placeOf(delimiter, at);
      if (nextBreak < at) nextBreak = placeOf('\n', at);
      const end = Math.min(nextDelimiter, nextBreak);
      record.push(text.slice(at, end));
      at = end;
    }
    if (text[at] === delimiter) continue;
    if (at < text.length && text[at] !== '\n') return false;
    write(record);
    record = [];
  }
  return true;
}

function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}
