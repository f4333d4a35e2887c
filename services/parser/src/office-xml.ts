import { SaxesParser } from 'saxes';
import { FileProblem } from './file-problem.ts';
import type { Part } from './office-archive.ts';

/** Names are without their prefix. */
export interface XmlHandlers {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

const maxDepth = 2_000;

/** Reads a part once from its start to its end, in time that grows with its length alone. @throws FileProblem; Error for broken XML. */
export async function readXml({ chunks }: Part, { open, text, close }: XmlHandlers): Promise<void> {
  const parser = new SaxesParser({ position: false, xmlns: false });
  let depth = 0;
  parser.on('doctype', () => {
    throw new FileProblem('forbiddenXml');
  });
  parser.on('opentag', ({ name, attributes }) => {
    depth += 1;
    if (depth > maxDepth) throw new FileProblem('tooDeep');
    open?.(localName(name), attributes);
  });
  parser.on('closetag', ({ name }) => {
    depth -= 1;
    close?.(localName(name));
  });
  if (text) {
    parser.on('text', text);
    parser.on('cdata', text);
  }
  const decoder = new TextDecoder();
  for await (const chunk of chunks) parser.write(decoder.decode(chunk, { stream: true }));
  parser.close();
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
