import { extractText, getDocumentProxy } from 'unpdf';

/** The text of each page, as a reader of PDFs copies it. */
export async function pagesOf(pdf: Uint8Array): Promise<string[]> {
  const document = await getDocumentProxy(new Uint8Array(pdf));
  return (await extractText(document)).text;
}

/** The text of all pages, without white space: readers of PDFs guess it. */
export async function textOf(pdf: Uint8Array): Promise<string> {
  return withoutSpaces((await pagesOf(pdf)).join(''));
}

export function withoutSpaces(text: string): string {
  return text.replaceAll(/[\s\u200B]/gu, '');
}
