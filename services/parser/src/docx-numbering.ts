import { shownCount } from './counter-formats.ts';
import type { DocxStyle, DocxStyles } from './docx-styles.ts';
import { isOn, type Part, valueOf } from './docx-xml.ts';
import { readXml } from './office-xml.ts';

/** The label of a list paragraph. */
export interface Label {
  /** The label as Word displays it, with a trailing blank; '' for a bullet. */
  text: string;
  isBullet: boolean;
  level: number;
}

/** A list position that the paragraph itself sets. It has priority over the position that the paragraph's style sets. */
export interface ListPlace {
  numId?: string | undefined;
  level?: number | undefined;
}

interface Level {
  start: number;
  format?: string;
  custom?: string;
  text?: string;
  /**
   * The level's count restarts after each paragraph of the levels 1 to `restart`; if 0, it never restarts. Default: it restarts after a
   * paragraph of any level above this one.
   */
  restart?: number;
  style?: string;
  isLegal?: boolean;
  blankAfter: string;
}

interface List {
  levels: (Level | undefined)[];
  styleLink?: string;
}

interface Instance {
  list: string;
  starts: (number | undefined)[];
  levels: (Level | undefined)[];
}

interface Counts {
  values: (number | undefined)[];
  /** Pairs of a list instance and a level, as `<numId> <level>`, in which a paragraph has already been counted. */
  begun: Set<string>;
}

const maxLevels = 9;
const maxLabelCharacters = 200;

export type DocxNumbering = ReturnType<typeof docxNumbering>;

export async function readNumbering(part: Part | undefined, styles: DocxStyles): Promise<DocxNumbering> {
  const lists = new Map<string, List>();
  const instances = new Map<string, Instance>();
  let list: List | undefined;
  let instance: Instance | undefined;
  let place = -1;
  let level: Level | undefined;

  function openLevel(attributes: Readonly<Record<string, string>>): void {
    const at = Number(valueOf(attributes, 'ilvl'));
    level = { start: 1, blankAfter: ' ' };
    const levels = instance?.levels ?? list?.levels;
    if (levels && at >= 0 && at < maxLevels) levels[at] = level;
  }

  if (part) {
    await readXml(part, {
      open(name, attributes) {
        const value = valueOf(attributes);
        if (name === 'abstractNum') {
          list = { levels: [] };
          lists.set(valueOf(attributes, 'abstractNumId') ?? '', list);
        } else if (name === 'num') {
          instance = { list: '', starts: [], levels: [] };
          instances.set(valueOf(attributes, 'numId') ?? '', instance);
        } else if (name === 'abstractNumId' && instance) instance.list = value ?? '';
        else if (name === 'numStyleLink' && list && value !== undefined) list.styleLink = value;
        else if (name === 'lvlOverride') place = Number(valueOf(attributes, 'ilvl'));
        else if (name === 'startOverride' && instance && place >= 0 && place < maxLevels) {
          instance.starts[place] = countOf(value);
        } else if (name === 'lvl') openLevel(attributes);
        else if (level) readLevel(level, name, value, valueOf(attributes, 'format'));
      },
      close(name) {
        if (name === 'abstractNum') list = undefined;
        else if (name === 'num') instance = undefined;
        else if (name === 'lvl') level = undefined;
      },
    });
  }
  return docxNumbering(lists, instances, styles);
}

/** A level may have two formats, of which Word uses the first. The second is for older programs that do not know the first. */
function readLevel(level: Level, name: string, value: string | undefined, custom: string | undefined): void {
  if (name === 'start') level.start = countOf(value);
  else if (name === 'numFmt' && level.format === undefined) {
    level.format = value ?? 'decimal';
    if (custom !== undefined) level.custom = custom;
  } else if (name === 'lvlText') level.text = (value ?? '').slice(0, maxLabelCharacters);
  else if (name === 'lvlRestart') level.restart = Number(value);
  else if (name === 'pStyle' && value !== undefined) level.style = value;
  else if (name === 'isLgl') level.isLegal = isOn(value);
  else if (name === 'suff' && value === 'nothing') level.blankAfter = '';
}

function countOf(value: string | undefined): number {
  const count = Number(value);
  return Number.isInteger(count) && count >= 0 && count < 2 ** 31 ? count : 1;
}

/** Makes a counter of list paragraphs. It must be called once for each paragraph, in the order of the document. */
function docxNumbering(lists: Map<string, List>, instances: Map<string, Instance>, styles: DocxStyles) {
  const counts = new Map<string, Counts>();

  /**
   * Returns the list that defines the levels of the list with this id. It is another list if the list refers to a style with its own list.
   */
  function listOf(id: string): { id: string; list: List | undefined } {
    const list = lists.get(id);
    const numId = list?.styleLink === undefined ? undefined : styles.get(list.styleLink).numId;
    const linked = numId === undefined ? undefined : instances.get(numId)?.list;
    return linked === undefined || linked === id ? { id, list } : { id: linked, list: lists.get(linked) };
  }

  function levelOf(own: ListPlace, style: DocxStyle, levels: (Level | undefined)[]): number {
    if (own.level !== undefined && own.level >= 0) return Math.min(maxLevels - 1, own.level);
    if (own.numId !== undefined) return 0;
    for (const id of style.numberedAs) {
      const found = levels.findIndex((each) => each?.style === id);
      if (found >= 0) return found;
    }
    return Math.min(maxLevels - 1, Math.max(0, style.listLevel ?? 0));
  }

  return {
    /** Returns the label of a paragraph; undefined if the paragraph is in no list or its label is empty. */
    label(own: ListPlace, style: DocxStyle): Label | undefined {
      const numId = own.numId ?? style.numId;
      const instance = numId === undefined || numId === '0' ? undefined : instances.get(numId);
      if (numId === undefined || !instance) return undefined;
      const { id, list } = listOf(instance.list);
      const levels = Array.from({ length: maxLevels }, (_, at) => instance.levels[at] ?? list?.levels[at]);
      const at = levelOf(own, style, levels);
      const level = levels[at];
      if (!level) return undefined;
      const state = counts.get(id) ?? { values: [], begun: new Set() };
      counts.set(id, state);
      count(state, { numId, instance, levels, at });
      if (level.format === 'bullet') return { text: '', isBullet: true, level: at };
      const shown = labelText(level, (upper) => {
        const other = levels[upper];
        const value = state.values[upper] ?? other?.start ?? 1;
        if (level.isLegal && other?.format !== 'none') return String(value);
        return other?.format === 'bullet' ? '' : shownCount(value, other?.format ?? 'decimal', other?.custom);
      });
      return shown.trim() === '' ? undefined : { text: shown + level.blankAfter, isBullet: false, level: at };

      function labelText({ text = `%${at + 1}.` }: Level, shownAt: (upper: number) => string): string {
        return text.replaceAll(/%([1-9])/gu, (_, digit: string) => shownAt(Number(digit) - 1));
      }
    },
  };
}

interface Counted {
  numId: string;
  instance: Instance;
  levels: (Level | undefined)[];
  at: number;
}

/** Counts a paragraph. Instances of one list share the list's counts, unless an instance sets its own start. */
function count({ values, begun }: Counts, { numId, instance, levels, at }: Counted): void {
  const own = instance.starts[at];
  const before = values[at];
  const isFirst = !begun.has(`${numId} ${at}`);
  begun.add(`${numId} ${at}`);
  if (before === undefined || (isFirst && own !== undefined)) values[at] = own ?? levels[at]?.start ?? 1;
  else values[at] = before + 1;
  for (let lower = at + 1; lower < maxLevels; lower += 1) {
    const { restart } = levels[lower] ?? {};
    if (restart === undefined || restart > at) values[lower] = undefined;
  }
}
