import type { TextItem } from './pdf-rows.ts';

/**
 * Control characters, private characters and the replacement character: pdf.js returns them if a font does not map a glyph to a
 * character.
 */
const odd = /[^\P{Cc}\t\n\r]|[\p{Co}\ufffd]/u;
const allOdd = new RegExp(odd, 'gu');

/** Characters of TeX fonts by code. pdf.js returns the code if it does not know the glyph's name. */
const ofTex: Record<string, string> = {
  '\x0e': 'ffi',
  '\x0f': 'ffl',
  '\x10': '“',
  '\x11': '”',
  '\x12': '„',
  '\x13': '«',
  '\x14': '»',
  '\x15': '–',
  '\x16': '—',
  '\x17': '',
  '\x19': 'ı',
  '\x1b': 'ff',
  '\x1c': 'fi',
  '\x1d': 'fl',
  '\x1e': 'ffi',
  '\x1f': 'ffl',
};

/** Characters of Symbol and Wingdings, as word processors use them in lists and forms. */
const ofSymbolFonts: Record<string, string> = {
  '\uf0b7': '•',
  '\uf0a7': '▪',
  '\uf06c': '●',
  '\uf06e': '■',
  '\uf0d8': '➢',
  '\uf0e0': '→',
  '\uf0fc': '✓',
  '\uf0fb': '✗',
  '\uf06f': '☐',
  '\uf0a8': '☐',
  '\uf0fe': '☑',
  '\uf0fd': '☒',
  '\uf02d': '-',
};

/** Ligatures in Microsoft's fonts and in fonts with the same metrics, such as Liberation. */
const ligatures: Record<string, string> = { '\uf001': 'fi', '\uf002': 'fl' };

interface Counts {
  characters: number;
  /**
   * Number of control characters and replacement characters. Private characters do not count, because the font does map the glyph to them.
   */
  unnamed: number;
  tex: number;
  /** Number of lower-case letters. It is very small if glyph numbers of Latin text were misread as characters. */
  smallLetters: number;
}

/**
 * Maximum share of unnamed characters of a font on a page. Above this share, if there are few lower-case letters, the font's other
 * characters are not trusted either.
 */
const unmappedShare = 0.04;
const readableShare = 0.5;
const texShare = 0.2;

export interface ReadSigns {
  items: TextItem[];
  /** Number of glyphs that no font maps to a character. */
  unknown: number;
}

/** Returns the items without characters that cannot be identified. */
export function readableSigns(items: TextItem[]): ReadSigns {
  if (!items.some(({ str }) => str !== undefined && odd.test(str))) return { items, unknown: 0 };
  const fonts = countsByFont(items);
  let unknown = 0;
  const readable = items.map((item) => {
    const counts = fonts.get(item.fontName ?? '');
    if (item.str === undefined || !counts) return item;
    const others = counts.unnamed - counts.tex;
    if (isUnmapped(counts)) {
      unknown += charactersIn(item.str);
      return { ...item, str: '' };
    }
    if (!odd.test(item.str)) return item;
    const isTex = others === 0 && counts.tex <= texShare * counts.characters;
    const str = withoutOdd(item.str, isTex);
    unknown += str.unknown;
    return { ...item, str: str.text };
  });
  return { items: readable, unknown };
}

function isUnmapped({ characters, unnamed, tex, smallLetters }: Counts): boolean {
  const others = unnamed - tex;
  if (others < 2 || others <= unmappedShare * characters) return false;
  return smallLetters < readableShare * (characters - unnamed);
}

function withoutOdd(str: string, isTex: boolean) {
  let unknown = 0;
  const known = /[\uf041-\uf05a\uf061-\uf07a]{3}/u.test(str) ? str.replaceAll(/[\uf020-\uf07e]/gu, fromSymbol) : str;
  const text = known.replaceAll(allOdd, (sign) => {
    const found = (isTex ? ofTex[sign] : undefined) ?? ofSymbolFonts[sign] ?? ligatures[sign] ?? ofAdobe(sign);
    if (found === undefined) unknown += 1;
    return found ?? '';
  });
  return { text, unknown };
}

/** Decodes Adobe's private codes for old-style figures and small capitals. */
function ofAdobe(sign: string): string | undefined {
  if (/[\uf730-\uf739\uf761-\uf77a]/u.test(sign)) return String.fromCharCode(sign.charCodeAt(0) - 0xf7_00);
  return undefined;
}

/** Converts a sign of a symbol font. Symbol fonts repeat the code points of ASCII in a private block. */
function fromSymbol(sign: string): string {
  return String.fromCharCode(sign.charCodeAt(0) - 0xf0_00);
}

function countsByFont(items: TextItem[]): Map<string, Counts> {
  const fonts = new Map<string, Counts>();
  for (const { str, fontName = '' } of items) {
    if (!str) continue;
    const counts = fonts.get(fontName) ?? { characters: 0, unnamed: 0, tex: 0, smallLetters: 0 };
    fonts.set(fontName, counts);
    counts.characters += charactersIn(str);
    counts.smallLetters += str.match(/\p{Ll}/gu)?.length ?? 0;
    for (const [sign] of str.matchAll(allOdd)) {
      if (sign <= '\x9f' || sign === '\ufffd') counts.unnamed += 1;
      if (ofTex[sign] !== undefined) counts.tex += 1;
    }
  }
  return fonts;
}

function charactersIn(str: string): number {
  return str.replaceAll(/\s/gu, '').length;
}
