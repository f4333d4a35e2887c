import { SaxesParser } from 'saxes';
import { FileProblem } from './file-problem.ts';
import { decodedXml } from './xml-encoding.ts';

/** Functions that are called while a part is read. The element names that they get have no prefix. */
export interface XmlHandlers {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

/** Counts the text of a part. Its handlers are called before those of the part's reader. */
export type TextCounter = Required<XmlHandlers>;

export interface Part {
  chunks: AsyncIterable<Buffer>;
  /** Counts the text of the part, including text that the reader of the part ignores. */
  counter?: TextCounter;
}

const maxDepth = 2_000;
/** The element that holds additions by later versions of Office or by other programs. */
const extensions = 'extLst';

/**
 * Reads a part once from start to end, without extensions, in time proportional to its length. @throws FileProblem; Error for invalid XML
 */
export async function readXml({ chunks, counter }: Part, { open, text, close }: XmlHandlers): Promise<void> {
  const parser = new SaxesParser({ position: false, xmlns: false });
  let depth = 0;
  let extensionDepth = 0;
  parser.on('doctype', () => {
    throw new FileProblem('forbiddenXml');
  });
  parser.on('opentag', ({ name, attributes }) => {
    depth += 1;
    if (depth > maxDepth) throw new FileProblem('tooDeep');
    const local = localName(name);
    if (extensionDepth > 0 || local === extensions) extensionDepth += 1;
    else {
      counter?.open(local, attributes);
      open?.(local, attributes);
    }
  });
  parser.on('closetag', ({ name }) => {
    depth -= 1;
    if (extensionDepth > 0) extensionDepth -= 1;
    else {
      counter?.close(localName(name));
      close?.(localName(name));
    }
  });
  if (text || counter) {
    const take = (some: string) => {
      if (extensionDepth > 0) return;
      counter?.text(some);
      text?.(some);
    };
    parser.on('text', take);
    parser.on('cdata', take);
  }
  for await (const some of decodedXml(chunks)) parser.write(some);
  parser.close();
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
