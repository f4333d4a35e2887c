import { codePoint } from 'dingbat-to-unicode';
import { type MathBuilder, mathBuilder } from './docx-math.ts';
import type { DocxNumbering, Label, ListPlace } from './docx-numbering.ts';
import type { DocxStyle, DocxStyles } from './docx-styles.ts';
import { isOn, type Part, valueOf } from './docx-xml.ts';
import { FileProblem } from './file-problem.ts';
import { emptyCellCharacters, oneLine } from './markdown.ts';
import { readXml } from './office-xml.ts';
import { visibleCharacters } from './visible-text.ts';

export type Block = Paragraph | Table;

export interface Paragraph {
  type: 'paragraph';
  text: string;
  label: Label | undefined;
  headingLevel: number | undefined;
  /** Number of visible characters that the paragraph takes from the file. */
  characters: number;
}

export interface Table {
  type: 'table';
  rows: string[][];
  characters: number;
}

export interface Story {
  /** Number of visible characters in the part. */
  seen: number;
  /** Number of signs in symbol fonts that correspond to no character. */
  unknownSigns: number;
  /** Number of embedded documents, which are not read. */
  embedded: number;
}

export interface StoryReader {
  styles: DocxStyles;
  /** Numbers the list paragraphs. If undefined, paragraphs have no labels. */
  numbering?: DocxNumbering;
  /** Receives the blocks of the part's body in order. */
  write: (block: Block) => void;
  /** Receives a note or a comment when the reader reaches the end of the note or comment. */
  writeNote?: (note: { element: string; id: string; blocks: Block[]; seen: number }) => void;
  /** Returns the text that represents a reference to a note. */
  noteMark?: (element: 'footnote' | 'endnote', id: string) => string;
  /** Returns the blocks of another part, which a drawing refers to by a relationship. */
  drawn?: (relation: string) => Block[];
  /** Maximum characters of text in memory. It also limits the number of table cells. */
  maxCharacters: number;
}

/** Elements that Word does not show: deleted or moved text, earlier formatting, and content for which there is a visible alternative. */
const unseen = new Set([
  'del',
  'moveFrom',
  'delText',
  'instrText',
  'delInstrText',
  'rt', // the pronunciation of an ideograph
  'pPrChange',
  'rPrChange',
  'tblPrChange',
  'tblGridChange',
  'trPrChange',
  'tcPrChange',
  'sectPrChange',
  'tblPrExChange',
  'numberingChange',
  'docPartObj',
]);

const hasOwnFields = new Set(['tc', 'footnote', 'endnote', 'comment', 'txbxContent']);

const maxColumns = 1_000;
/** Maximum nesting of paragraphs and tables, as in text boxes and cells. */
const maxNesting = 60;

interface OpenParagraph {
  type: 'p';
  parts: string[];
  characters: number;
  after: Block[];
  style: DocxStyle;
  place: ListPlace;
  outlineLevel?: number;
  /** Whether the paragraph mark was deleted, so that the next paragraph continues this one. */
  isContinued: boolean;
  hasUnseen: boolean;
}

interface OpenTable {
  type: 'tbl';
  rows: string[][];
  row: string[];
  isRowDeleted: boolean;
  characters: number;
}

interface OpenCell {
  type: 'tc';
  blocks: Block[];
  columns: number;
}

interface OpenNote {
  type: 'note';
  blocks: Block[];
  id: string;
  seenBefore: number;
}

/** A field of Word, such as a page number or a link. Word shows the field's result, but not its code. */
interface Field {
  paragraph: OpenParagraph | undefined;
  isCode: boolean;
  /** Text that is hidden because it belongs to the code of this field. If the document does not end the code, the text is shown. */
  held: { at: number; text: string; counted: number }[];
}

type Container = OpenParagraph | OpenTable | OpenCell | OpenNote;

/** Reads a part from start to end. Each text occurs in exactly one block. */
export async function readStory(part: Part, reader: StoryReader): Promise<Story> {
  const { styles, numbering, write, writeNote, noteMark, drawn, maxCharacters } = reader;
  const story: Story = { seen: 0, unknownSigns: 0, embedded: 0 };
  const path: string[] = [];
  const containers: Container[] = [];
  const runs: { isHidden: boolean; font: string }[] = [];
  /** Open fields by story. Each cell, note and text box is a story. A field ends at the latest with the story in which it began. */
  const fieldsOfStories: Field[][] = [[]];
  /** Number of open fields whose beginning was deleted. */
  let deletedFields = 0;
  /** For each open `AlternateContent`, the number of characters before it. Only the first alternative with text is read. */
  const alternatives: { seen: number; isRead: boolean }[] = [];
  const carried = new Map<Container | undefined, Pick<OpenParagraph, 'parts' | 'characters' | 'after'>>();
  let unseenDepth = 0;
  let math: MathBuilder | undefined;
  let mathDepth = 0;
  let mathCharacters = 0;
  let form: { mark?: boolean; choice: number; entries: string[] } | undefined;
  let characters = 0;
  let cellCharacters = 0;
  let stray: OpenParagraph | undefined;

  const paragraph = () => containers.findLast((each) => each.type === 'p');
  const tableOfCell = () => containers.findLast((each) => each.type === 'tbl');

  function push(container: Container): void {
    if (containers.length >= maxNesting) throw new FileProblem('tooDeep');
    containers.push(container);
  }

  function emit(block: Block): void {
    const owner = containers.at(-1);
    if (!owner) write(block);
    else if (owner.type === 'p') owner.after.push(block);
    else if (owner.type === 'tbl') {
      owner.row.push(oneLine(blockText(block)));
      owner.characters += block.characters;
    } else owner.blocks.push(block);
  }

  function newParagraph(): OpenParagraph {
    const started = carried.get(containers.at(-1)) ?? { parts: [], characters: 0, after: [] };
    carried.delete(containers.at(-1));
    return { type: 'p', ...started, style: styles.get(''), place: {}, isContinued: false, hasUnseen: false };
  }

  function closeParagraph(closed: OpenParagraph): void {
    if (closed.isContinued) {
      carried.set(containers.at(-1), closed);
      return;
    }
    const text = closed.parts.join('').trim();
    // Word does not number a paragraph that is completely hidden.
    const isShown = text !== '' || !closed.hasUnseen;
    const label = isShown ? numbering?.label(closed.place, closed.style) : undefined;
    const headingLevel = closed.outlineLevel ?? closed.style.headingLevel;
    if (text !== '') emit({ type: 'paragraph', text, label, headingLevel, characters: closed.characters });
    for (const block of closed.after) emit(block);
  }

  /**
   * Called at the end of the part and of each container, such as a cell. If the container's last paragraph waits for a next paragraph that
   * continues it, closes it.
   */
  function endContainer(container: Container | undefined): void {
    const rest = carried.get(container);
    if (!rest) return;
    carried.delete(container);
    closeParagraph({ type: 'p', ...rest, style: styles.get(''), place: {}, isContinued: false, hasUnseen: true });
  }

  function countText(text: string, counted: number): void {
    story.seen += counted;
    characters += text.length;
    if (characters > maxCharacters) throw new FileProblem('tooLong');
  }

  function addText(text: string, counted: number): void {
    countText(text, counted);
    if (math) {
      mathCharacters += counted;
      math.text(text);
      return;
    }
    const open = paragraphOfText();
    open.parts.push(text);
    open.characters += counted;
  }

  function paragraphOfText(): OpenParagraph {
    const open = containers.at(-1);
    if (open?.type === 'p') return open;
    // A document with text outside a paragraph is invalid, but the text is kept.
    stray ??= newParagraph();
    return stray;
  }

  const openFields = () => fieldsOfStories.at(-1) ?? [];
  const hidingField = () => openFields().find(({ isCode }) => isCode);

  /** Adds text. If the text belongs to a field's code, it is kept apart until the code ends. */
  function addOrHold(text: string, counted: number): void {
    const open = paragraphOfText();
    const field = hidingField();
    if (runs.at(-1)?.isHidden) open.hasUnseen = true;
    else if (!field) addText(text, counted);
    else if (field.paragraph === open) {
      open.hasUnseen = true;
      characters += text.length;
      if (characters > maxCharacters) throw new FileProblem('tooLong');
      field.held.push({ at: open.parts.push('') - 1, text, counted });
    } else addText(text, counted);
  }

  /**
   * Ends field codes that are open at the end of their paragraph, and shows their text. The code of a field cannot extend to the next
   * paragraph.
   */
  function endCodes(closed: OpenParagraph): void {
    for (const field of openFields()) {
      if (!field.isCode || field.paragraph !== closed) continue;
      for (const { at, text, counted } of field.held) {
        closed.parts[at] = text;
        closed.characters += counted;
        story.seen += counted;
      }
      endCode(field);
    }
  }

  function endCode(field: Field): void {
    field.isCode = false;
    field.held = [];
  }

  function addFieldPart(type: string | undefined): void {
    const fields = openFields();
    const last = fields.at(-1);
    if (type === 'begin') fields.push({ paragraph: paragraphOfText(), isCode: true, held: [] });
    else if (type === 'separate' && last) endCode(last);
    else if (type === 'end') fields.pop();
    if (fields.length > maxNesting) throw new FileProblem('tooDeep');
  }

  /**
   * Handles a deleted part of a field. A deleted end belongs to an open field whose beginning was deleted; if there is no such field, to a
   * field whose beginning was not deleted.
   */
  function addDeletedFieldPart(type: string | undefined): void {
    if (type === 'begin') deletedFields += 1;
    else if (deletedFields === 0) addFieldPart(type);
    else if (type === 'end') deletedFields -= 1;
  }

  function endStray(): void {
    const closed = stray;
    stray = undefined;
    if (!closed) return;
    endCodes(closed);
    closeParagraph(closed);
  }

  function isShown(): boolean {
    return !runs.at(-1)?.isHidden && !hidingField();
  }

  function addSymbol(font: string, code: string): void {
    const number = Number.parseInt(code, 16);
    const found = symbolOf(font, number);
    if (found !== undefined) addOrHold(found, 0);
    else if (isShown()) story.unknownSigns += 1;
  }

  function endMath(): void {
    const text = math?.take() ?? '';
    const counted = mathCharacters;
    math = undefined;
    mathCharacters = 0;
    if (text === '') return;
    story.seen -= counted;
    // A displayed equation begins on its own line.
    const open = paragraph();
    const isLine = path.includes('oMathPara') && open?.parts.some((each) => each.trim() !== '');
    addText(isLine ? `\n${text}` : text, counted);
  }

  function endRow(): void {
    const table = tableOfCell();
    if (!table) return;
    if (!table.isRowDeleted || table.row.some((cell) => cell !== '')) table.rows.push(table.row);
    table.row = [];
    table.isRowDeleted = false;
  }

  /** Counts table cells toward the limit of characters. Merged cells may expand to far more text than the file contains. */
  function countCells(count: number): void {
    cellCharacters += count * emptyCellCharacters;
    if (cellCharacters > maxCharacters) throw new FileProblem('tooLong');
  }

  function closeCell({ blocks, columns }: OpenCell): void {
    const table = tableOfCell();
    if (!table) {
      for (const block of blocks) emit(block);
      return;
    }
    countCells(columns);
    table.row.push(oneLine(blocks.map(blockText).join('\n')), ...Array.from({ length: columns - 1 }, () => ''));
    for (const block of blocks) table.characters += block.characters;
  }

  function closeTable({ rows, row, characters: held }: OpenTable): void {
    if (row.length > 0) rows.push(row);
    const width = rows.reduce((widest, { length }) => Math.max(widest, length), 0);
    countCells(rows.length * width);
    for (const each of rows) while (each.length < width) each.push('');
    if (rows.some((each) => each.some((cell) => cell !== ''))) emit({ type: 'table', rows, characters: held });
  }

  function openProperty(name: string, value: string | undefined, attributes: Readonly<Record<string, string>>): void {
    const parent = path.at(-2);
    const above = path.at(-3);
    const open = containers.at(-1);
    if (parent === 'pPr' && open?.type === 'p') {
      if (name === 'pStyle' && value !== undefined) open.style = styles.get(value);
      else if (name === 'outlineLvl' && Number(value) >= 0 && Number(value) < 9) open.outlineLevel = Number(value) + 1;
    } else if (parent === 'numPr' && above === 'pPr' && open?.type === 'p') {
      if (name === 'numId') open.place.numId = value;
      else if (name === 'ilvl') open.place.level = Number(value) || 0;
    } else if (parent === 'rPr') {
      const run = above === 'r' ? runs.at(-1) : undefined;
      if (name === 'vanish' && run) run.isHidden = isOn(value);
      else if (name === 'vanish' && above === 'pPr' && open?.type === 'p') open.hasUnseen ||= isOn(value);
      else if (name === 'rStyle' && run && value !== undefined) run.isHidden ||= styles.get(value).isHidden;
      else if (name === 'rFonts' && run) run.font = valueOf(attributes, 'ascii') ?? '';
    } else if (parent === 'tcPr' && name === 'gridSpan' && open?.type === 'tc') {
      open.columns = Math.min(maxColumns, Math.max(1, Number(value) || 1));
    } else if (parent === 'trPr' && name === 'gridBefore' && open?.type === 'tbl') {
      const columns = Math.min(maxColumns, Math.max(0, Number(value) || 0));
      countCells(columns);
      for (let column = 0; column < columns; column += 1) open.row.push('');
    } else if (form) openForm(form, name, value);
  }

  function openInline(name: string, attributes: Readonly<Record<string, string>>): void {
    // Old versions of Word stored the text of WordArt in an attribute.
    if (name === 'textpath' && isShown()) addText(` ${valueOf(attributes, 'string') ?? ''} `, 0);
    const parent = path.at(-2);
    if (parent !== 'r' && !(name === 'br' && parent === 'p')) return;
    if (name === 'footnoteReference' || name === 'endnoteReference') {
      if (isShown() && noteMark)
        addText(noteMark(name === 'footnoteReference' ? 'footnote' : 'endnote', valueOf(attributes, 'id') ?? ''), 0);
    } else if (name === 'sym') addSymbol(valueOf(attributes, 'font') ?? '', valueOf(attributes, 'char') ?? '');
    else if (name === 'fldChar') addFieldPart(valueOf(attributes, 'fldCharType'));
    else {
      const sign = inlineSigns[name];
      if (sign !== undefined && isShown()) addText(sign, 0);
    }
  }

  function open(name: string, attributes: Readonly<Record<string, string>>): void {
    path.push(name);
    const parent = path.at(-2);
    if (unseenDepth > 0 || isUnseen(name, parent)) {
      unseenDepth += 1;
      if (name === 'fldChar') addDeletedFieldPart(valueOf(attributes, 'fldCharType'));
      return;
    }
    if (hasOwnFields.has(name)) fieldsOfStories.push([]);
    const value = valueOf(attributes);
    if (mathDepth > 0) {
      mathDepth += 1;
      math?.open(name, value);
      if (name === 'r') runs.push({ isHidden: false, font: '' });
      openProperty(name, value, attributes);
      return;
    }
    switch (name) {
      case 'p': {
        endStray();
        push(newParagraph());
        return;
      }
      case 'r':
        runs.push({ isHidden: paragraph()?.style.isHidden ?? false, font: '' });
        return;
      case 'tbl':
        endStray();
        push({ type: 'tbl', rows: [], row: [], isRowDeleted: false, characters: 0 });
        return;
      case 'tc':
        push({ type: 'tc', blocks: [], columns: 1 });
        return;
      case 'footnote':
      case 'endnote':
      case 'comment':
        if (writeNote) push({ type: 'note', blocks: [], id: valueOf(attributes, 'id') ?? '', seenBefore: story.seen });
        return;
      case 'oMath':
        math = mathBuilder();
        mathDepth = 1;
        return;
      case 'AlternateContent':
        alternatives.push({ seen: story.seen, isRead: false });
        return;
      case 'ffData':
        form = { choice: 0, entries: [] };
        return;
      case 'chart':
      case 'relIds':
        for (const block of drawn?.(valueOf(attributes, name === 'chart' ? 'id' : 'dm') ?? '') ?? []) {
          story.seen += block.characters;
          emit(block);
        }
        return;
      case 'altChunk':
        story.embedded += 1;
        return;
      default:
        openInline(name, attributes);
        openProperty(name, value, attributes);
    }
  }

  function isUnseen(name: string, parent: string | undefined): boolean {
    if (name === 'Choice' || name === 'Fallback') return alternatives.at(-1)?.isRead ?? false;
    if (!unseen.has(name)) return false;
    const top = containers.at(-1);
    if (name === 'del' && parent === 'rPr' && path.at(-3) === 'pPr' && top?.type === 'p') top.isContinued = true;
    if (name === 'del' && parent === 'trPr' && top?.type === 'tbl') top.isRowDeleted = true;
    // `rt` is hidden only inside `ruby`. Elsewhere, short names like `rt` or `deg` (the degree of a root) occur only in equations, which
    // are shown.
    if (name === 'rt') return parent === 'ruby';
    const open = paragraph();
    if (open && (name === 'del' || name === 'moveFrom')) open.hasUnseen = true;
    return true;
  }

  function text(some: string): void {
    if (unseenDepth > 0 || path.at(-1) !== 't') return;
    const font = runs.at(-1)?.font ?? '';
    const shown = privateSigns.test(some) ? withoutPrivateSigns(some, font) : some;
    addOrHold(shown.replaceAll('\u00ad', ''), visibleCharacters(some));
  }

  /** Replaces private code points, which symbol fonts use for their signs, by the characters that these signs show. */
  function withoutPrivateSigns(some: string, font: string): string {
    return some.replaceAll(allPrivateSigns, (sign) => {
      const found = symbolOf(font, sign.charCodeAt(0));
      if (found === undefined) story.unknownSigns += 1;
      return found ?? sign;
    });
  }

  function close(name: string): void {
    path.pop();
    if (unseenDepth > 0) {
      unseenDepth -= 1;
      return;
    }
    if (name === 'r') runs.pop();
    if (hasOwnFields.has(name) && fieldsOfStories.length > 1) fieldsOfStories.pop();
    if (mathDepth > 0) {
      mathDepth -= 1;
      if (mathDepth === 0) endMath();
      else math?.close();
      return;
    }
    const alternative = alternatives.at(-1);
    if (name === 'AlternateContent') alternatives.pop();
    else if ((name === 'Choice' || name === 'Fallback') && alternative) {
      alternative.isRead ||= story.seen > alternative.seen;
    } else if (name === 'ffData') endForm();
    else if (name === 'tr') {
      endStray();
      endRow();
    } else closeContainer(name);
  }

  function closeContainer(name: string): void {
    const container = containers.at(-1);
    const type = name === 'footnote' || name === 'endnote' || name === 'comment' ? 'note' : name;
    if (!container || container.type !== type) return;
    if (container.type === 'p') endCodes(container);
    else endStray();
    endContainer(container);
    containers.pop();
    if (container.type === 'p') closeParagraph(container);
    else if (container.type === 'tc') closeCell(container);
    else if (container.type === 'tbl') closeTable(container);
    else {
      const { id, blocks, seenBefore } = container;
      writeNote?.({ element: name, id, blocks, seen: story.seen - seenBefore });
    }
  }

  function endForm(): void {
    const { mark, choice, entries } = form ?? { choice: 0, entries: [] };
    form = undefined;
    if (mark !== undefined) addText(mark ? '[x] ' : '[ ] ', 0);
    else if (entries[choice] !== undefined) addText(entries[choice], 0);
  }

  await readXml(part, { open, text, close });
  endStray();
  endContainer(undefined);
  return story;
}

function openForm(form: { mark?: boolean; choice: number; entries: string[] }, name: string, value = ''): void {
  if (name === 'checkBox') form.mark = false;
  else if (form.mark !== undefined && (name === 'default' || name === 'checked')) form.mark = isOn(value || undefined);
  else if (name === 'listEntry') form.entries.push(value);
  else if (name === 'result') form.choice = Number(value) || 0;
}

const inlineSigns: Record<string, string | undefined> = {
  tab: '\t',
  ptab: '\t',
  br: '\n',
  cr: '\n',
  noBreakHyphen: '-',
};

const privateSigns = /[\uf020-\uf0ff]/u;
const allPrivateSigns = new RegExp(privateSigns, 'gu');

function symbolOf(font: string, code: number): string | undefined {
  const own = code >= 0xf000 && code <= 0xf0ff ? code - 0xf000 : code;
  return (
    codePoint(font, own)?.string ??
    (code > 0xff && (code < 0xe000 || code > 0xf8ff) ? String.fromCodePoint(code) : undefined)
  );
}

export function blockText(block: Block): string {
  if (block.type === 'table') return block.rows.flat().join(' ');
  return `${block.label?.text ?? ''}${block.text}`;
}
