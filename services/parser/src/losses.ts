/** Content that is missing in a file's text, by kind; a label of the metric. */
export type LossKind =
  /** Characters that are in the file but not in its text. */
  | 'characters'
  /** Text of page headers and footers. */
  | 'headersAndFooters'
  /** Remarks beside the text. */
  | 'comments'
  /** Documents within the document. */
  | 'embeddedDocuments'
  /** Pages that are pictures. */
  | 'scannedPages'
  /** Number of glyphs that their font does not map to characters. */
  | 'unknownSigns'
  /** Merged cells that do not all repeat their value. */
  | 'repeatedValues'
  /** Charts whose values the file does not hold. */
  | 'chartValues';

export interface Loss {
  kind: LossKind;
  /** One line for the tenant, without content of the file: `2 of 14 pages have no text: scanned`. */
  what: string;
}

/** Returns the loss for charts that were read without their values. */
export function lostValues(charts: number): Loss[] {
  if (charts === 0) return [];
  return [{ kind: 'chartValues', what: `values of ${counted(charts, 'chart')} not read: the file does not hold them` }];
}

/** Returns a count with its noun: `1 comment`, `2,000 comments`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
