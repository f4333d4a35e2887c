import { SaxesParser } from 'saxes';
import { FileProblem } from './file-problem.ts';
import { decodedXml } from './xml-encoding.ts';

/** Handlers get names without the prefix. */
export interface XmlHandlers {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

/** Receives the events of a part before the reader does. */
export type TextCounter = Required<XmlHandlers>;

export interface Part {
  chunks: AsyncIterable<Buffer>;
  /** Counts the content of the part, including content that its reader ignores. */
  counter?: TextCounter;
}

const maxDepth = 2_000;
/** Elements that later versions of Office, or other programs, add. */
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
