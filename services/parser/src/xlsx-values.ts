import type { Book } from './xlsx-book.ts';

export interface CellValue {
  type: string;
  styleIndex: number;
  raw: string;
}

export function cellText({ type, styleIndex, raw }: CellValue, { strings, dateStyles, is1904 }: Book): string {
  if (raw === '') return '';
  switch (type) {
    case 's':
      return strings[Number(raw)] ?? '';
    case 'b':
      return Number(raw) === 0 ? 'FALSE' : 'TRUE';
    case 'n':
      return dateStyles[styleIndex] ? dateText(dateOf(Number(raw), is1904)) : numberText(Number(raw));
    default:
      return raw;
  }
}

/** As a person sees it: 0.1 + 0.2 is 0.3. */
function numberText(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(15))) : '';
}

const daysTo1970 = 25_569;
const daysFrom1900To1904 = 1_462;
const dayMs = 86_400_000;

function dateOf(days: number, is1904: boolean): Date {
  return new Date(Math.round((days - daysTo1970 + (is1904 ? daysFrom1900To1904 : 0)) * dayMs));
}

/** `2026-01-31`, with a time where it has one; a time alone, which is less than a day, as such. */
function dateText(date: Date): string {
  const ms = Math.round(date.getTime() / 1_000) * 1_000;
  if (Number.isNaN(ms)) return '';
  const iso = new Date(ms).toISOString();
  if (ms < (1 - daysTo1970) * dayMs) return iso.slice(11, 19);
  return ms % dayMs === 0 ? iso.slice(0, -'T00:00:00.000Z'.length) : iso.slice(0, -'.000Z'.length);
}
