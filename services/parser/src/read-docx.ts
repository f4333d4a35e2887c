import { readChart } from './docx-chart.ts';
import { type Block, blockText, type Paragraph, readStory, type Story } from './docx-content.ts';
import { readNumbering } from './docx-numbering.ts';
import { readStyles } from './docx-styles.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import { counted, type Loss, lostValues } from './losses.ts';
import { heading, type MarkdownWriter, markdownWriter, oneLine, plainText, type ReadText, table } from './markdown.ts';
import { type OfficeArchive, openOfficeArchive } from './office-archive.ts';
import { partOf, readTargets, type Targets } from './office-relations.ts';
import { countTexts, traceCharacters } from './visible-text.ts';

const usualDocument = 'word/document.xml';

/** Reads a Word document. Headings, lists, tables and notes are kept; pictures and formatting are not. */
export async function readDocx(bytes: Buffer, limits: ReadLimits): Promise<ReadText> {
  const opened = await openOfficeArchive(bytes, 'docx', limits);
  const main = partOf(await readTargets(opened, ''), 'officeDocument') ?? usualDocument;
  const targets = await readTargets(opened, main);
  const partNamed = (type: string) => {
    const part = partOf(targets, type);
    return part === undefined ? undefined : opened.part(part);
  };
  const styles = await readStyles(partNamed('styles'));
  const counts = countTexts(opened, styles);
  const { archive } = counts;
  const numbering = await readNumbering(partNamed('numbering'), styles);
  const maxCharacters = 2 * limits.maxCharacters;
  const about = { styles, maxCharacters };
  const notes = await readNotes(archive, targets, about);
  const drawings = await readDrawings(archive, targets, about);

  const writer = markdownWriter(limits.maxCharacters);
  const blocks = blockWriter(writer);
  const story = await readStory(archive.part(main), {
    ...about,
    numbering,
    write: (block) => blocks.write(block, notes.withMarks),
    noteMark: notes.placeholder,
    drawn: (relation) => drawings.take(relation),
  });
  for (const block of drawings.rest()) {
    story.seen += block.characters;
    blocks.write(block, notes.withMarks);
  }
  blocks.end();
  const noted = notes.write(writer);
  const text = writer.text();
  if (text.trim() === '') throw new FileProblem('empty');
  const losses = [
    ...lossesOf(story, { shown: await shownCharacters(counts, main, targets), given: blocks.given }, noted),
    ...lostValues(drawings.withoutValues),
    ...(await lossesBeside(archive, targets, { ...about, text })),
  ];
  return { text, pageStarts: [], ...(losses.length > 0 && { losses }) };
}

interface About {
  styles: Parameters<typeof readStory>[1]['styles'];
  maxCharacters: number;
}

interface Note {
  blocks: Block[];
  seen: number;
}

/**
 * Placeholders for references to notes. Their `\0` cannot occur in XML. They are replaced when all notes are read, because notes may refer
 * to each other.
 */
const placeholders = /\0([a-z]+) ([^\0]*)\0/gu;

async function readNotes(archive: OfficeArchive, targets: Targets, about: About) {
  const found = new Map<string, Note>();
  const numbers = new Map<string, number>();
  const placeholder = (element: string, id: string) => `\0${element} ${id}\0`;
  for (const type of ['footnotes', 'endnotes']) {
    const part = partOf(targets, type);
    if (part === undefined) continue;
    await readStory(archive.part(part), {
      ...about,
      write: () => undefined,
      writeNote: ({ element, id, ...note }) => found.set(`${element} ${id}`, note),
      noteMark: placeholder,
    });
  }

  function withMarks(text: string): string {
    if (!text.includes('\0')) return text;
    return text.replaceAll(placeholders, (_, element: string, id: string) => {
      const key = `${element} ${id}`;
      if (!found.has(key)) return '';
      if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
      return `[^${numbers.get(key)}]`;
    });
  }

  return {
    placeholder,
    withMarks,
    /** Writes the notes in the order of their references in the text. */
    write(writer: MarkdownWriter) {
      let seen = 0;
      let given = 0;
      for (const [key, number] of numbers) {
        const note = found.get(key);
        if (!note) continue;
        const text = oneLine(withMarks(note.blocks.map(blockText).join('\n')));
        writer.append(`[^${number}]: ${text}\n\n`);
        seen += note.seen;
        for (const { characters } of note.blocks) given += characters;
      }
      return { seen, given };
    },
  };
}

/** Reads the texts of charts and diagrams, which are in separate parts. */
async function readDrawings(archive: OfficeArchive, targets: Targets, about: About) {
  const drawings = new Map<string, Block[]>();
  let withoutValues = 0;
  for (const [id, { type, part }] of targets) {
    if (type === 'chart') {
      const chart = await readChart(archive.part(part), about.maxCharacters);
      if (chart.isWithoutValues) withoutValues += 1;
      drawings.set(id, chart.blocks);
    }
    if (type !== 'diagramData') continue;
    const blocks: Block[] = [];
    await readStory(archive.part(part), { ...about, write: (block) => blocks.push(block) });
    drawings.set(id, blocks);
  }
  return {
    /** Once. */
    take(relation: string): Block[] {
      const blocks = drawings.get(relation) ?? [];
      drawings.delete(relation);
      return blocks;
    },
    rest: () => [...drawings.values()].flat(),
    withoutValues,
  };
}

function blockWriter(writer: MarkdownWriter) {
  let inList = false;
  let given = 0;

  function end(): void {
    if (inList) writer.append('\n');
    inList = false;
  }

  function writeParagraph({ text, label, headingLevel }: Paragraph, withMarks: (text: string) => string): void {
    const shown = withMarks(text);
    const number = label && !label.isBullet && headingLevel === undefined ? label.text.trim() : '';
    const isItem = headingLevel === undefined && (label?.isBullet === true || isItemNumber.test(number));
    if (!isItem) end();
    if (headingLevel !== undefined) writer.append(heading(headingLevel, `${label?.text ?? ''}${shown}`));
    else if (isItem) {
      const indent = '  '.repeat(label?.level ?? 0);
      writer.append(`${indent}${label?.isBullet ? '-' : number} ${shown.replaceAll('\n', ' ')}\n`);
    } else writer.append(`${plainText(`${label?.text ?? ''}${shown}`)}\n\n`);
    inList = isItem;
  }

  return {
    get given() {
      return given;
    },
    write(block: Block, withMarks: (text: string) => string): void {
      given += block.characters;
      if (block.type === 'paragraph') {
        writeParagraph(block, withMarks);
        return;
      }
      end();
      writer.append(table(block.rows.map((row) => row.map(withMarks))));
    },
    end,
  };
}

/** The label of a numbered item in a Markdown list. */
const isItemNumber = /^\d{1,9}[.)]$/u;

/** Counts, independently of the reader, the characters that the document shows in its text, notes and drawings. */
async function shownCharacters(counts: ReturnType<typeof countTexts>, main: string, targets: Targets): Promise<number> {
  const { characters, references } = await counts.countOf(main);
  let shown = characters + (await counts.drawnOn(main));
  for (const type of ['footnotes', 'endnotes']) {
    const part = partOf(targets, type);
    if (part === undefined) continue;
    const notes = await counts.countOf(part);
    for (const [note, held] of notes.notes) if (references.has(note)) shown += held;
  }
  return shown;
}

interface Compared {
  /** The number of visible characters in the file, counted independently of its reader. */
  shown: number;
  /** Number of visible characters in the extracted text, excluding notes. */
  given: number;
}

function lossesOf(story: Story, { shown, given }: Compared, notes: { seen: number; given: number }): Loss[] {
  const losses: Loss[] = [];
  const missing = shown - given - notes.given;
  const lost = Math.max(story.seen + notes.seen - given - notes.given, missing > traceCharacters ? missing : 0);
  if (lost > 0)
    losses.push({ kind: 'characters', what: `${counted(lost, 'character')} of the document could not be read` });
  if (story.unknownSigns > 0)
    losses.push({
      kind: 'unknownSigns',
      what: `${counted(story.unknownSigns, 'sign')} of fonts of symbols could not be read`,
    });
  if (story.embedded > 0)
    losses.push({ kind: 'embeddedDocuments', what: `${counted(story.embedded, 'embedded document')} not read` });
  return losses;
}

const comparedLines = 50;
const comparedCharacters = 500;

/** Finds content outside the body, which the text omits. A header or footer that only repeats text of the body is not a loss. */
async function lossesBeside(archive: OfficeArchive, targets: Targets, { text, ...about }: About & { text: string }) {
  const lines = new Map<string, number>();
  let comments = 0;
  for (const { type, part } of new Map([...targets.values()].map((target) => [target.part, target])).values()) {
    if (type === 'comments') {
      const writeNote = ({ seen }: { seen: number }) => {
        if (seen > 0) comments += 1;
      };
      await readStory(archive.part(part), { ...about, write: () => undefined, writeNote });
    }
    if (type !== 'header' && type !== 'footer') continue;
    const write = (block: Block) => lines.set(oneLine(blockText(block)), block.characters);
    await readStory(archive.part(part), { ...about, write });
  }
  const losses: Loss[] = [];
  let beside = 0;
  for (const [at, [line, characters]] of [...lines].entries()) {
    const isCompared = at < comparedLines && line.length < comparedCharacters;
    if (!isCompared || !text.includes(line)) beside += characters;
  }
  if (beside > traceCharacters)
    losses.push({
      kind: 'headersAndFooters',
      what: `${counted(beside, 'character')} of page headers and footers not read`,
    });
  if (comments > 0) losses.push({ kind: 'comments', what: `${counted(comments, 'comment')} not read` });
  return losses;
}
