import type { getDocumentProxy } from 'unpdf';

export type PdfPage = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>;

/** What a page without text shows. `stamped`: a scan on a page that also has a few words of text, such as a stamp or a page number. */
export type Picture = 'stamped' | 'blank' | 'scanned' | 'drawn' | 'unreadable';

/** A scan covers at least this share of a page without text. A smaller picture is a logo or a line. */
const scanShare = 0.1;
/** A scan covers at least this share of a page with a few words of text. A smaller picture is only an illustration. */
const scanShareBesideText = 0.5;
/** A page with fewer shapes than this counts as blank. */
const fewestShapes = 30;

/**
 * Classifies a page without text by its drawing operators. pdf.js was opened with `maxImageSize`, so pictures are not decoded and only
 * their positions are known.
 */
export async function pictureOn(page: PdfPage, operators: Record<string, number>): Promise<Picture> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
  const minArea = scanShare * Math.abs((right - left) * (top - bottom));
  const outer: number[] = [];
  let scale = 1;
  let shapes = 0;
  for (const [at, operator] of fnArray.entries()) {
    if (operator === operators.showText || operator === operators.showSpacedText) return 'unreadable';
    if (operator === operators.save) outer.push(scale);
    else if (operator === operators.restore) scale = outer.pop() ?? 1;
    else if (operator === operators.constructPath) shapes += 1;
    else if (operator === operators.paintFormXObjectEnd) scale = outer.pop() ?? 1;
    else if (operator === operators.paintFormXObjectBegin) {
      outer.push(scale);
      scale *= areaOf((argsArray[at] as [number[] | null])[0]);
    } else if (operator === operators.transform) {
      scale *= areaOf(argsArray[at] as number[]);
      if (scale >= minArea) return 'scanned';
    }
  }
  return shapes >= fewestShapes ? 'drawn' : 'blank';
}

/**
 * Reports whether one picture covers most of a page. Pictures are not decoded: a picture appears as a transformation that no drawing
 * operator follows.
 */
export async function isMostlyPicture(page: PdfPage, operators: Record<string, number>): Promise<boolean> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
  const minArea = scanShareBesideText * Math.abs((right - left) * (top - bottom));
  const outer: number[] = [];
  let scale = 1;
  for (const [at, operator] of fnArray.entries()) {
    if (operator === operators.save) outer.push(scale);
    else if (operator === operators.restore || operator === operators.paintFormXObjectEnd) scale = outer.pop() ?? 1;
    else if (operator === operators.paintFormXObjectBegin) {
      outer.push(scale);
      scale *= areaOf((argsArray[at] as [number[] | null])[0]);
    } else if (operator === operators.transform) {
      scale *= areaOf(argsArray[at] as number[]);
      const next = fnArray[at + 1];
      if (scale >= minArea && (next === undefined || next === operators.restore)) return true;
    }
  }
  return false;
}

/** Returns the factor by which a matrix enlarges areas. */
function areaOf(matrix: number[] | null): number {
  const [a = 1, b = 0, c = 0, d = 1] = matrix ?? [];
  return Math.abs(a * d - b * c);
}
