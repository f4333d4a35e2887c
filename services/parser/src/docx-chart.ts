import type { Block } from './docx-content.ts';
import { FileProblem } from './file-problem.ts';
import type { Part } from './office-archive.ts';
import { readXml } from './office-xml.ts';

interface Series {
  name: string;
  categories: string[];
  values: string[];
}

/** The titles of a chart, and each of its series as the values by category that it was last drawn with. */
export async function readChart(part: Part, maxCharacters: number): Promise<Block[]> {
  const path: string[] = [];
  const lines: string[] = [];
  let title = '';
  let series: Series | undefined;
  let value = '';
  let characters = 0;

  function endValue(): void {
    if (!series) return;
    if (path.includes('tx')) series.name = value;
    else if (path.includes('cat') || path.includes('xVal')) series.categories.push(value);
    else if (path.includes('val') || path.includes('yVal')) series.values.push(value);
  }

  function seriesLine({ name, categories, values }: Series): string {
    const pairs = values.map((each, at) => [categories[at], each].filter(Boolean).join(' '));
    return [name, pairs.join('; ')].filter((each) => each !== '').join(': ');
  }

  await readXml(part, {
    open(name) {
      path.push(name);
      if (name === 'ser') series = { name: '', categories: [], values: [] };
      if (name === 'v') value = '';
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
      else if (name === 'p' && title.trim() !== '') {
        lines.push(title.trim());
        title = '';
      } else if (name === 'ser' && series) {
        lines.push(seriesLine(series));
        series = undefined;
      }
    },
  });
  return lines
    .filter((line) => line !== '')
    .map((text) => ({ type: 'paragraph', text, label: undefined, headingLevel: undefined, characters: 0 }));
}
