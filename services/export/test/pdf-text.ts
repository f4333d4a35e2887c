import { extractText, getDocumentProxy } from 'unpdf';

/** Returns the text of each page, as copied from a PDF reader. */
export async function pagesOf(pdf: Uint8Array): Promise<string[]> {
  const document = await getDocumentProxy(new Uint8Array(pdf));
  return (await extractText(document)).text;
}

/** Returns the text of all pages without white space, because PDF readers only guess white space. */
export async function textOf(pdf: Uint8Array): Promise<string> {
  return withoutSpaces((await pagesOf(pdf)).join(''));
}

export function withoutSpaces(text: string): string {
  return text.replaceAll(/[\s\u200B]/gu, '');
}
