import type { getDocumentProxy } from 'unpdf';

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>['getPage']>>;

/** What a page without text shows. */
export type Picture = 'blank' | 'scanned' | 'drawn' | 'unreadable';

/** Of the page: a smaller picture is a logo, or a line. */
const scanShare = 0.1;
/** With fewer shapes than this a page is blank but for its frame. */
const fewestShapes = 30;

/**
 * By the operators of a page that was opened with `maxImageSize`: its pictures were left out undecoded, and only the place that each
 * would fill is there.
 */
export async function pictureOn(page: Page, operators: Record<string, number>): Promise<Picture> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
  const least = scanShare * Math.abs((right - left) * (top - bottom));
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
      if (scale >= least) return 'scanned';
    }
  }
  return shapes >= fewestShapes ? 'drawn' : 'blank';
}

/** How many times as large an area becomes. */
function areaOf(matrix: number[] | null): number {
  const [a = 1, b = 0, c = 0, d = 1] = matrix ?? [];
  return Math.abs(a * d - b * c);
}
