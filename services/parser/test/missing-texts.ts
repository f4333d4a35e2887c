// Finds a file's visible text without the code of the readers: each kind of text is found by one regular expression, without state.
import { openOfficeArchive } from '../src/office-archive.ts';
import { xmlDecoder } from '../src/xml-encoding.ts';

/** Larger parts take too long to compare. */
const maxPartCharacters = 200_000;

const element = (name: string) => new RegExp(`<(?:\\w+:)?${name}(?:\\s[^>]*[^/])?>.*?</(?:\\w+:)?${name}>`, 'gsu');
const unseenInWord = [
  /<(\w+:)?del\s[^>]*[^/]>.*?<\/\1?del>/gsu,
  ...['moveFrom', 'Fallback', 'rt', 'extLst'].map(element),
  /<w:r>\s*<w:rPr>(?:(?!<\/w:rPr>).)*<w:(?:vanish|rStyle w:val="Hidden")\/>.*?<\/w:r>/gsu,
];
const fieldCode =
  /<w:fldChar w:fldCharType="begin"(?:(?!fldCharType="(?:separate|begin)").)*fldCharType="separate"\/>/gsu;
/** Headers and footers with at most this many characters are not compared; they may only be page numbers. */
const trace = 20;
const unseenInExcel = ['rPh', 'extLst'].map(element);

/** Returns visible texts of a file that are missing in its parsed text. */
export async function missingTexts(type: 'docx' | 'xlsx', bytes: Buffer, text: string): Promise<string[]> {
  const archive = await openOfficeArchive(bytes, type, { maxInflatedBytes: 256 * 2 ** 20 });
  const xmlOf = async (name: string) => {
    const part = await archive.read(name);
    return xmlDecoder(part).decode(part);
  };
  const found = squeezed(text.replaceAll('\\', '').replaceAll('∛', '3√').replaceAll('∜', '4√'));
  const nodes = new Set<string>();
  for (const xml of type === 'docx' ? await wordParts() : await sheetParts()) {
    if (xml.length > maxPartCharacters) continue;
    for (const [, node = ''] of xml.matchAll(/<(?:\w+:)?t(?:\s[^>]*)?>([^<]*)<\/(?:\w+:)?t>/gu))
      nodes.add(squeezed(decoded(node)));
  }
  return [...nodes].filter((node) => !/[\uf020-\uf0ff\\]/u.test(node) && !found.includes(node));

  async function wordParts(): Promise<string[]> {
    const read = archive.names.filter((name) =>
      /^word\/[^/]*\.xml$|^word\/(?:charts|diagrams)\/[^/]*\.xml$/iu.test(name),
    );
    const parts = read.filter((name) => !/styles|numbering|glossary|footnotes|endnotes|drawing/iu.test(name));
    const isBeside = (name: string) => /(?:header|footer)\d*\.xml$/u.test(name);
    const seen = (
      await Promise.all(parts.map(async (name) => ({ xml: await xmlOf(name), isBeside: isBeside(name) })))
    ).map(({ xml, isBeside }) => (isBeside && squeezed(xml.replaceAll(/<[^>]*>/gu, '')).length <= trace ? '' : xml));
    return seen.map((xml) => {
      const rest = unseenInWord.reduce((remaining, unseen) => remaining.replaceAll(unseen, ''), xml);
      const withoutCodes = rest.replaceAll(fieldCode, '');
      return withoutCodes.replaceAll(fieldCode, ''); // the second pass removes codes of fields that contained other fields
    });
  }

  async function sheetParts(): Promise<string[]> {
    const workbook = await xmlOf(archive.names.find((name) => /^xl\/workbook\d*\.xml$/u.test(name)) ?? '');
    const hidden = [...workbook.matchAll(/<sheet\s[^>]*>/gu)].map(([sheet]) => /state="(?!visible)/u.test(sheet));
    const sheets = archive.names.filter((name) => /^xl\/worksheets\/[^/]*\.xml$/u.test(name)).toSorted();
    const shown = await Promise.all(sheets.filter((_, at) => !hidden[at]).map(xmlOf));
    const drawings = archive.names.filter((name) => /^xl\/(?:drawings|charts)\/[^/]*\.xml$/u.test(name));
    const strings = archive.names.find((name) => /^xl\/sharedStrings\.xml$/iu.test(name));
    const shared = strings === undefined ? [] : [...(await xmlOf(strings)).matchAll(/<si>.*?<\/si>/gsu)];
    const used = new Set<string>();
    for (const xml of shown) {
      for (const [, index = ''] of xml.matchAll(/<c\s[^>]*t="s"[^>]*>\s*<v>(\d+)<\/v>/gu)) {
        used.add(shared[Number(index)]?.[0] ?? '');
      }
    }
    const all = [...shown, ...used, ...(await Promise.all(drawings.map(xmlOf)))];
    return all.map((xml) => unseenInExcel.reduce((rest, unseen) => rest.replaceAll(unseen, ''), xml));
  }
}

function decoded(node: string): string {
  const names: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  return node
    .replaceAll(/_x([\da-f]{4})_/giu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/giu, (whole, hex?: string, decimal?: string, name = '') => {
      if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
      return decimal ? String.fromCodePoint(Number(decimal)) : (names[name] ?? whole);
    });
}

/** Removes characters that no parsed text contains. */
function squeezed(text: string): string {
  return text.replaceAll(/[\s\u00ad\p{Cc}]+/gu, '');
}
