/** Content of a file that its parsed text lacks, by kind. The kind is a label of the metric of losses. */
export type LossKind =
  /** Characters that are in the file but not in its text. */
  | 'characters'
  /** Text of page headers and footers. */
  | 'headersAndFooters'
  /** Comments, which stand beside the text. */
  | 'comments'
  /** Documents within the document. */
  | 'embeddedDocuments'
  /** Pages that are pictures. */
  | 'scannedPages'
  /** Glyphs that their font does not map to characters. */
  | 'unknownSigns'
  /** Values of merged cells. A value is not repeated in each cell of its range if the file has too many merged cells. */
  | 'repeatedValues'
  /** Values of charts, if the file does not contain these values. */
  | 'chartValues';

export interface Loss {
  kind: LossKind;
  /** One line for the tenant, without content of the file: `2 of 14 pages have no text: scanned`. */
  what: string;
}

/** Returns a loss for this number of charts that were read without their values; none for 0. */
export function lostValues(charts: number): Loss[] {
  if (charts === 0) return [];
  return [{ kind: 'chartValues', what: `values of ${counted(charts, 'chart')} not read: the file does not hold them` }];
}

/** Returns a count with its noun: `1 comment`, `2,000 comments`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
