import type { Block } from './docx-content.ts';
import { FileProblem } from './file-problem.ts';
import type { Part } from './office-xml.ts';
import { readXml } from './office-xml.ts';
import { visibleCharacters } from './visible-text.ts';

interface Series {
  name: string[];
  /** The category names by data point index. A category may have several levels, innermost first. */
  categories: Map<number, string[]>;
  values: Map<number, string[]>;
}

const pointLists = new Set(['cat', 'val', 'xVal', 'yVal', 'bubbleSize', 'lvl']);

export interface Chart {
  blocks: Block[];
  /** Whether the file contains only references to the values, and not the values themselves. */
  isWithoutValues: boolean;
}

/** Reads the titles of a chart and the values of each series by category, as they were when the chart was last drawn. */
export async function readChart(part: Part, maxCharacters: number): Promise<Chart> {
  const path: string[] = [];
  const blocks: Block[] = [];
  let title = '';
  let series: Series | undefined;
  let point = -1;
  let value = '';
  let characters = 0;
  let isWithoutValues = false;

  function write(line: string, parts: string[]): void {
    if (line === '') return;
    const held = parts.reduce((sum, each) => sum + visibleCharacters(each), 0);
    blocks.push({ type: 'paragraph', text: line, label: undefined, headingLevel: undefined, characters: held });
  }

  function endValue(): void {
    if (!series) write(value.trim(), [value]);
    else if (path.includes('tx')) series.name.push(value);
    else add(path.includes('cat') || path.includes('xVal') ? series.categories : series.values, value);
  }

  function add(points: Map<number, string[]>, some: string): void {
    const known = points.get(point);
    if (known) known.push(some);
    else points.set(point, [some]);
  }

  function endSeries({ name, categories, values }: Series): void {
    isWithoutValues ||= values.size === 0;
    const points = [...new Set([...categories.keys(), ...values.keys()])].toSorted((a, b) => a - b);
    const texts = points.map((at) => [...(categories.get(at)?.toReversed() ?? []), ...(values.get(at) ?? [])]);
    const pairs = texts.map((each) => each.filter((text) => text !== '').join(' '));
    const shown = [name.join(' '), pairs.join('; ')].filter((each) => each !== '');
    write(shown.join(': '), [...name, ...texts.flat()]);
  }

  await readXml(part, {
    open(name, { idx }) {
      path.push(name);
      if (name === 'ser') series = { name: [], categories: new Map(), values: new Map() };
      else if (name === 'pt') point = idx === undefined ? point + 1 : Number(idx) || 0;
      else if (pointLists.has(name)) point = -1;
      else if (name === 'v') value = '';
    },
    text(text) {
      const element = path.at(-1);
      if (element !== 't' && element !== 'v') return;
      characters += text.length;
      if (characters > maxCharacters) throw new FileProblem('tooLong');
      if (element === 't') title += text;
      else value += text;
    },
    close(name) {
      path.pop();
      if (name === 'v') endValue();
      else if (name === 'p') {
        write(title.trim(), [title]);
        title = '';
      } else if (name === 'ser' && series) {
        endSeries(series);
        series = undefined;
      }
    },
  });
  return { blocks, isWithoutValues };
}
