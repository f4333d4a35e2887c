import type { DocxStyles } from './docx-styles.ts';
import { isOn, valueOf } from './docx-xml.ts';
import type { OfficeArchive } from './office-archive.ts';
import { readTargets } from './office-relations.ts';
import { readXml, type TextCounter } from './office-xml.ts';
import { unescaped } from './xlsx-text.ts';

/** Counts visible characters. Whitespace does not count, and neither do soft hyphens, which only mark a possible line break. */
export function visibleCharacters(text: string): number {
  return text.replaceAll(/[\s\u00ad]+/gu, '').length;
}

/** Numbers of characters in a part's text, counted from its XML. */
export interface TextCount {
  characters: number;
  /** Number of characters in each note or comment. A key is the type and the id: `footnote 2`. */
  notes: Map<string, number>;
  /** Keys, such as `footnote 2`, of the notes to which visible text refers. */
  references: Set<string>;
}

/** Elements whose text is not shown. Field codes, second copies and hidden runs are not shown either. */
const notShown = new Set(['del', 'moveFrom', 'docPartObj', 'rPh']);

/**
 * A field that has not ended. While its code is open, text is counted and also added to `held`; when the code ends, `held` is subtracted.
 */
interface CountedField {
  isCode: boolean;
  held: number;
}

const notes = new Set(['footnote', 'endnote', 'comment']);

/**
 * Counts the visible characters of a part from the same XML events as its reader, but decides independently what is visible. So a mistake
 * of the reader appears as a difference.
 */
export function textCounter(styles?: DocxStyles): TextCounter & { count: TextCount } {
  const path: string[] = [];
  const count: TextCount = { characters: 0, notes: new Map(), references: new Set() };
  const runs: { direct?: boolean; style?: boolean | undefined }[] = [];
  const paragraphs: boolean[] = [];
  const fields: CountedField[] = [];
  /** The outermost field whose code hides the following text. */
  let hiding: CountedField | undefined;
  const copies: { before: number; chosen: boolean }[] = [];
  let hiddenDepth = 0;
  let deletedFields = 0;
  let note: string | undefined;
  let noteBefore = 0;

  function isHidden(): boolean {
    const run = runs.at(-1);
    return run?.direct ?? run?.style ?? (run !== undefined && (paragraphs.at(-1) ?? false));
  }

  function fieldPart(type: string | undefined): void {
    const field = fields.at(-1);
    if (hiddenDepth > 0) {
      if (type === 'begin') deletedFields += 1;
      if (type !== 'end') return;
      if (deletedFields > 0) {
        deletedFields -= 1;
        return;
      }
    }
    if (type === 'begin') {
      const begun = { isCode: true, held: 0 };
      fields.push(begun);
      hiding ??= begun;
    } else if (type === 'separate' && field) endCode(field);
    else if (type === 'end' && field) {
      endCode(field);
      fields.pop();
    }
  }

  function endCode(field: CountedField): void {
    if (field.isCode) count.characters -= field.held;
    field.isCode = false;
    if (hiding === field) hiding = undefined;
  }

  /** Ends all fields. Text that was counted as part of a code without an end remains counted. */
  function endFields(): void {
    fields.length = 0;
    hiding = undefined;
  }

  return {
    open(name, attributes) {
      path.push(name);
      const copy = copies.at(-1);
      const isCopy = (name === 'Choice' || name === 'Fallback') && copy?.chosen === true;
      const isReading = name === 'rt' && path.at(-2) === 'ruby';
      if (name === 'fldChar') fieldPart(valueOf(attributes, 'fldCharType'));
      if (hiddenDepth > 0 || notShown.has(name) || isCopy || isReading) {
        hiddenDepth += 1;
        return;
      }
      if (name === 'AlternateContent') copies.push({ before: count.characters, chosen: false });
      else if (name === 'r') runs.push({});
      else if (name === 'p') paragraphs.push(styles?.get('').isHidden ?? false);
      else if (notes.has(name)) {
        note = `${name} ${valueOf(attributes, 'id') ?? ''}`;
        noteBefore = count.characters;
      } else if ((name === 'footnoteReference' || name === 'endnoteReference') && !isHidden()) {
        count.references.add(`${name.slice(0, -'Reference'.length)} ${valueOf(attributes, 'id') ?? ''}`);
      } else if (path.at(-2) === 'rPr' && path.at(-3) === 'r') {
        const run = runs.at(-1);
        if (name === 'vanish' && run) run.direct = isOn(valueOf(attributes));
        else if (name === 'rStyle' && run) run.style = styles?.get(valueOf(attributes) ?? '').isHidden || undefined;
      } else if (name === 'pStyle' && path.at(-2) === 'pPr' && paragraphs.length > 0) {
        paragraphs[paragraphs.length - 1] = styles?.get(valueOf(attributes) ?? '').isHidden ?? false;
      }
    },
    text(text) {
      if (hiddenDepth > 0 || !textNodes.has(path.at(-1) ?? '') || isHidden()) return;
      const characters = visibleCharacters(text);
      count.characters += characters;
      if (hiding) hiding.held += characters;
    },
    close(name) {
      path.pop();
      if (hiddenDepth > 0) {
        hiddenDepth -= 1;
        return;
      }
      const copy = copies.at(-1);
      if (name === 'AlternateContent') copies.pop();
      else if ((name === 'Choice' || name === 'Fallback') && copy) copy.chosen ||= count.characters > copy.before;
      else if (name === 'r') runs.pop();
      else if (name === 'p') {
        paragraphs.pop();
        // Fields end with the outermost paragraph; a paragraph in a text box or cell within it does not end them.
        if (paragraphs.length === 0) endFields();
      } else if (notes.has(name) && note !== undefined) {
        count.notes.set(note, count.characters - noteBefore);
        endFields();
        note = undefined;
      }
    },
    count,
  };
}

/** XML elements that contain text: `t` in Word documents, equations and drawings; `v` for the points of charts. */
const textNodes = new Set(['t', 'v']);

/** At most this many missing characters are ignored. They may be page numbers, or characters that a reader joins or splits. */
export const traceCharacters = 20;

/** Counts the characters of each part while the part's reader reads it. `countOf` reads a part itself if no reader has read it. */
export function countTexts(archive: OfficeArchive, styles?: DocxStyles) {
  const counts = new Map<string, TextCount>();

  function part(name: string) {
    const found = archive.part(name);
    const key = name.toLowerCase();
    if (counts.has(key)) return found;
    const counter = textCounter(styles);
    counts.set(key, counter.count);
    return { ...found, counter };
  }

  async function countOf(name: string): Promise<TextCount> {
    const known = counts.get(name.toLowerCase());
    if (known) return known;
    const counter = textCounter(styles);
    await readXml(archive.part(name), counter);
    counts.set(name.toLowerCase(), counter.count);
    return counter.count;
  }

  return {
    archive: { ...archive, part },
    countOf,
    /**
     * Counts the characters in a part's drawings, charts and diagrams, and in the drawings that these contain. Each one is counted once.
     */
    async drawnOn(source: string, seen = new Set<string>()): Promise<number> {
      let characters = 0;
      for (const { type, part: name } of (await readTargets(archive, source)).values()) {
        if (!drawn.has(type) || seen.has(name)) continue;
        seen.add(name);
        characters += (await countOf(name)).characters + (await this.drawnOn(name, seen));
      }
      return characters;
    },
  };
}

const drawn = new Set(['drawing', 'chart', 'chartUserShapes', 'diagramData']);

/** Counts the characters of each shared string in a workbook. */
export function sharedStringsCounter(): TextCounter & { counts: number[] } {
  const counts: number[] = [];
  let raw = '';
  let phonetic = 0;
  let isText = false;
  return {
    open(name) {
      if (name === 'rPh') phonetic += 1;
      isText = name === 't';
    },
    text(text) {
      if (isText && phonetic === 0) raw += text;
    },
    close(name) {
      isText = false;
      if (name === 'rPh') phonetic -= 1;
      if (name !== 'si') return;
      counts.push(visibleCharacters(unescaped(raw)));
      raw = '';
    },
    counts,
  };
}

/** Counts the characters of a sheet's string cells, shared or inline, from the same XML events as its reader. */
export function sheetCounter(sharedCharacters: readonly number[]): TextCounter & { count: { characters: number } } {
  const count = { characters: 0 };
  let type = 'n';
  let element = '';
  let raw = '';
  let phonetic = 0;
  return {
    open(name, { t = 'n' }) {
      element = name;
      if (name === 'rPh') phonetic += 1;
      if (name === 'c') {
        type = t;
        raw = '';
      }
    },
    text(text) {
      if (phonetic === 0 && (element === 't' || (element === 'v' && (type === 's' || type === 'str')))) raw += text;
    },
    close(name) {
      element = '';
      if (name === 'rPh') phonetic -= 1;
      if (name !== 'c') return;
      count.characters += type === 's' ? (sharedCharacters[Number(raw)] ?? 0) : visibleCharacters(unescaped(raw));
      raw = '';
    },
    count,
  };
}
