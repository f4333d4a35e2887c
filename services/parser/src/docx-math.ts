import { isOn } from './docx-xml.ts';
import { FileProblem } from './file-problem.ts';

interface Node {
  name: string;
  parts: { name: string; text: string }[];
  properties: Record<string, string>;
}

/** Maximum nesting of an equation, far above what Word itself produces. */
const maxDepth = 300;

/** Builds an equation as linear text, similar to Word's own linear format: `P=(a·r)/360`. */
export function mathBuilder() {
  const nodes: Node[] = [{ name: 'oMath', parts: [], properties: {} }];
  return {
    open(name: string, value: string | undefined): void {
      if (nodes.length > maxDepth) throw new FileProblem('tooDeep');
      const owner = nodes.at(-2);
      if (owner && nodes.at(-1)?.name === `${owner.name}Pr`) owner.properties[name] = value ?? '';
      nodes.push({ name, parts: [], properties: {} });
    },
    text(text: string): void {
      nodes.at(-1)?.parts.push({ name: 't', text });
    },
    close(): void {
      const node = nodes.pop();
      if (node) nodes.at(-1)?.parts.push({ name: node.name, text: linear(node) });
    },
    take(): string {
      return nodes[0] ? linear(nodes[0]) : '';
    },
  };
}

export type MathBuilder = ReturnType<typeof mathBuilder>;

function linear({ name, parts, properties }: Node): string {
  const all = (wanted: string) => parts.filter((part) => part.name === wanted).map(({ text }) => text);
  const one = (wanted: string) => all(wanted).join('');
  const e = () => one('e');
  const scripts = () => script('_', one('sub')) + script('^', one('sup'));
  switch (name) {
    case 'f':
      return `${grouped(one('num'))}${properties['type'] === 'noBar' ? '¦' : '/'}${grouped(one('den'))}`;
    case 'rad':
      return rootOf(
        properties['degHide'] !== undefined && isOn(properties['degHide'] || undefined) ? '' : one('deg'),
        e(),
      );
    case 'sSup':
    case 'sSub':
    case 'sSubSup':
      return `${grouped(e())}${scripts()}`;
    case 'sPre':
      return `${scripts()}${e()}`;
    case 'nary':
      return `${properties['chr'] ?? '∫'}${scripts()} ${e()}`;
    case 'd':
      return `${properties['begChr'] ?? '('}${all('e').join(properties['sepChr'] ?? '|')}${properties['endChr'] ?? ')'}`;
    case 'func':
      return /^[([{|]/u.test(e()) ? `${one('fName')}${e()}` : `${one('fName')} ${e()}`;
    case 'limLow':
      return `${e()}${script('_', one('lim'))}`;
    case 'limUpp':
      return `${e()}${script('^', one('lim'))}`;
    case 'mr':
      return all('e').join(', ');
    case 'm':
      return `[${all('mr').join('; ')}]`;
    case 'eqArr':
      return all('e').join('; ');
    case 'acc':
      return `${grouped(e())}${properties['chr'] ?? '\u0302'}`;
    case 'bar':
      return `${properties['pos'] === 'top' ? '¯' : '_'}${grouped(e())}`;
    case 'groupChr':
      return `${properties['pos'] === 'top' ? '' : e()}${properties['chr'] ?? '⏟'}${properties['pos'] === 'top' ? e() : ''}`;
    default:
      return parts.map(({ text }) => text).join('');
  }
}

/** Adds brackets unless the text is a single number or word. */
function grouped(text: string): string {
  return /^(?:\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}]+)$/u.test(text) || isBracketed(text) ? text : `(${text})`;
}

function isBracketed(text: string): boolean {
  return /^\([^()]*\)$/u.test(text);
}

function script(sign: string, text: string): string {
  return text.trim() === '' ? '' : `${sign}${grouped(text)}`;
}

function rootOf(degree: string, radicand: string): string {
  const inside = isBracketed(radicand) ? radicand : `(${radicand})`;
  if (degree === '' || degree === '2') return `√${inside}`;
  const sign = degree === '3' ? '∛' : degree === '4' ? '∜' : undefined;
  return sign === undefined ? `√(${degree}&${radicand})` : `${sign}${inside}`;
}
