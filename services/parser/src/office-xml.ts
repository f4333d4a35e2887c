import { SaxesParser } from 'saxes';
import { FileProblem } from './file-problem.ts';
import type { Part } from './office-archive.ts';
import { decodedXml, xmlDecoder } from './xml-encoding.ts';

/** Names are without their prefix. */
export interface XmlHandlers {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

const maxDepth = 2_000;
/** What a later version of Office, or another program, adds to an element. */
const extensions = 'extLst';

/** Reads a part once from its start to its end, without extensions, in time that grows with its length alone. @throws FileProblem; Error for broken XML. */
export async function readXml({ chunks }: Part, { open, text, close }: XmlHandlers): Promise<void> {
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
    else open?.(local, attributes);
  });
  parser.on('closetag', ({ name }) => {
    depth -= 1;
    if (extensionDepth > 0) extensionDepth -= 1;
    else close?.(localName(name));
  });
  if (text) {
    const take = (some: string) => {
      if (extensionDepth === 0) text(some);
    };
    parser.on('text', take);
    parser.on('cdata', take);
  }
  for await (const some of decodedXml(chunks)) parser.write(some);
  parser.close();
}

/** A part as UTF-8 with elements and text alone, for a library that reads XML by itself. @throws FileProblem; RangeError for its encoding */
export function plainXml(bytes: Buffer): Buffer {
  const xml = withoutSections(xmlDecoder(bytes).decode(bytes));
  if (xml.includes('<!DOCTYPE')) throw new FileProblem('forbiddenXml');
  return Buffer.from(xml);
}

/** Of the relations of a part: some writers separate folders as Windows does. */
export function withSlashes(relations: Buffer): Buffer {
  const slashed = (target: string) => target.replaceAll('\\', '/');
  return Buffer.from(relations.toString().replaceAll(/\sTarget\s*=\s*(?:"[^"]*"|'[^']*')/gu, slashed));
}

const cdataStart = '<![CDATA[';
/** What begins a section whose content is no markup, and what ends it. */
const sectionEnds: Record<string, string> = { [cdataStart]: ']]>', '<!--': '-->', '<?': '?>' };
const sectionStart = /<!\[CDATA\[|<!--|<\?/gu;

/** CDATA sections become text; comments and processing instructions are left out. */
function withoutSections(xml: string): string {
  const plain: string[] = [];
  let at = 0;
  sectionStart.lastIndex = 0;
  for (let found = sectionStart.exec(xml); found; found = sectionStart.exec(xml)) {
    const [start] = found;
    const { [start]: end = '' } = sectionEnds;
    const from = found.index + start.length;
    const to = xml.indexOf(end, from);
    if (to < 0) throw new FileProblem('damaged');
    plain.push(xml.slice(at, found.index));
    if (start === cdataStart) plain.push(xml.slice(from, to).replaceAll('&', '&amp;').replaceAll('<', '&lt;'));
    at = to + end.length;
    sectionStart.lastIndex = at;
  }
  return plain.join('') + xml.slice(at);
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
