import { format as formatNumber } from 'numfmt';
import { FileProblem } from './file-problem.ts';
import type { Book, NumberStyle } from './xlsx-book.ts';
import { unescaped } from './xlsx-text.ts';

export interface CellValue {
  type: string;
  styleIndex: number;
  raw: string;
}

export function cellText({ type, styleIndex, raw }: CellValue, { strings, styles, is1904 }: Book): string {
  if (raw.trim() === '') return '';
  switch (type) {
    case 's':
      return strings[Number(raw)] ?? missing();
    case 'b':
      return ['0', 'false'].includes(raw.trim()) ? 'FALSE' : 'TRUE';
    case 'n':
      return styled(Number(raw), styles[styleIndex] ?? plain, is1904);
    default:
      return unescaped(raw);
  }
}

function missing(): never {
  throw new FileProblem('damaged');
}

const plain: NumberStyle = { shows: 'number' };

function styled(value: number, { shows, format }: NumberStyle, is1904: boolean): string {
  if (shows === 'duration') return durationText(value);
  if (format !== undefined && Number.isFinite(value)) return formattedText(value, format);
  if (shows === 'number' || value < 0) return numberText(value);
  return value < 1 ? durationText(value) : dateText(dateOf(value, is1904));
}

/** Returns the value as the workbook displays it, without blanks that only align columns. */
function formattedText(value: number, format: string): string {
  return formatNumber(format, value, { throws: false }).replaceAll(/\s+/gu, ' ').trim();
}

/**
 * Returns the number as people expect it: a fraction is rounded to 15 significant digits, so that 0.1 + 0.2 is 0.3; an integer is not
 * rounded. Returns an empty text if the number is not finite.
 */
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

/** Formats a duration as `36:00:00`. Also used for a time of day, which is stored as a duration of less than a day. */
function durationText(days: number): string {
  if (!Number.isFinite(days)) return '';
  const seconds = Math.round(Math.abs(days) * 86_400);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return `${days < 0 ? '-' : ''}${parts.map((part) => String(part).padStart(2, '0')).join(':')}`;
}

/** Formats a date as `2026-01-31`, followed by the time unless the time is midnight. */
function dateText(date: Date): string {
  const ms = Math.round(date.getTime() / 1_000) * 1_000;
  if (Number.isNaN(ms)) return '';
  const iso = new Date(ms).toISOString();
  return ms % dayMs === 0 ? iso.slice(0, -'T00:00:00.000Z'.length) : iso.slice(0, -'.000Z'.length);
}
