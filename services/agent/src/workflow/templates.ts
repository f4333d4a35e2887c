import { measureJson } from '@parley/json-schema/json-size';
import { plainTextForm, templateEngine, templateProblem } from '@parley/text/template-engine';
import { Context, type Liquid, Output, TypeGuards, toValueSync } from 'liquidjs';
import { LRUCache } from 'lru-cache';
import type { Json } from './definition.ts';
import type { NameRead, Scope } from './scope.ts';

export interface Template {
  /** @throws Error that says why there is no text */
  text(scope: Scope): string;
  /** As `text`; but of exactly one output, `{{ … }}`, the value itself. */
  value(scope: Scope): Json;
  reads: NameRead[];
  /** What the template writes as it is and without anything else; undefined where it writes more, or less. */
  repeats?: NameRead | undefined;
}

/** A template that cannot be compiled. Its message completes "<path> …". */
export class TemplateError extends Error {}

export const templateLimits = { maxCharacters: 100_000, maxBytes: 262_144, maxDepth: 32, maxValues: 20_000 };

const memoryUnits = 1_000_000;
const maxReasonLength = 200;

/** `capture` keeps a text that no limit counts, and counters belong to no name of the scope. */
const leftOutTags = ['capture', 'increment', 'decrement', 'cycle'];

/** They nest a list in itself, by which few steps make an endless text, or differ from one time to the next. */
const leftOutFilters = ['push', 'unshift', 'group_by', 'sample', 'sha256', 'hmac_sha256'];

const texts = dialect(templateEngine());
const values = dialect(templateEngine());
// Values keep their type, where texts have `outputEscape` write them.
Object.assign(values.options, { outputEscape: undefined });

const kept = new LRUCache<string, Template>({ max: 2_000, maxSize: 4_194_304 });

/**
 * Compiles a Liquid template of the chassis' dialect, with less: see the README. Rendering itself has no time limit: call it as the
 * engine does, within one.
 * @throws TemplateError
 */
export function compileTemplate(source: string): Template {
  const known = kept.get(source);
  if (known) return known;
  const made = countTags(source) === 0 ? constant(source) : compile(source);
  kept.set(source, made, { size: source.length + 100 });
  return made;
}

/** Tags and outputs, by which parsing costs time. */
export function countTags(source: string): number {
  return (source.match(/\{[{%]/gu) ?? []).length;
}

/** Characters within tags and outputs, by which parsing costs time too. */
export function countCode(source: string): number {
  const opening = /\{[{%]/gu;
  let characters = 0;
  for (let found = opening.exec(source); found; found = opening.exec(source)) {
    const end = endOfCode(source, opening.lastIndex, found[0] === '{{' ? '}}' : '%}');
    characters += end - opening.lastIndex;
    opening.lastIndex = end;
  }
  return characters;
}

/** Where a tag or output closes; what is quoted closes none, and what is never closed ends with the text. */
function endOfCode(source: string, from: number, closing: string): number {
  const sign = closing === '}}' ? /\}\}|["']/gu : /%\}|["']/gu;
  sign.lastIndex = from;
  for (let found = sign.exec(source); found; found = sign.exec(source)) {
    if (found[0] === closing) return found.index;
    const quoteEnd = source.indexOf(found[0], sign.lastIndex);
    if (quoteEnd < 0) return source.length;
    sign.lastIndex = quoteEnd + 1;
  }
  return source.length;
}

/** JSON with each string rendered as a template; keys are as they are. */
export function renderJson(json: Json, scope: Scope): Json {
  if (typeof json === 'string') return compileTemplate(json).value(scope);
  if (Array.isArray(json)) return json.map((each) => renderJson(each, scope));
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([key, each]) => [key, renderJson(each, scope)]));
}

/** All strings of JSON, by path. */
export function* templatesOf(json: Json, path: string): Generator<{ path: string; source: string }> {
  if (typeof json === 'string') yield { path, source: json };
  else if (typeof json === 'object' && json !== null) {
    for (const [key, each] of Object.entries(json)) yield* templatesOf(each, `${path}.${key}`);
  }
}

function constant(source: string): Template {
  return { text: () => source, value: () => source, reads: [] };
}

function compile(source: string): Template {
  const problem = templateProblem(texts, source);
  if (problem !== undefined) throw new TemplateError(problem);
  const parsed = texts.parse(source);
  const reads = texts.globalVariableSegmentsSync(parsed).map(written);
  const text = (scope: Scope) => reasoned(() => renderText(parsed, scope));
  const [only, ...more] = values.parse(source);
  if (!(only instanceof Output) || more.length > 0) return { text, value: text, reads };
  const value = (scope: Scope) => reasoned(() => valueOf(only, scope));
  return { text, value, reads, repeats: isPlain(only) && reads.length === 1 ? reads[0] : undefined };
}

/** `{{ a.b }}`, without a filter or an operator. */
function isPlain({ value: { filters, initial } }: Output): boolean {
  const [first, ...more] = initial.postfix;
  return filters.length === 0 && more.length === 0 && TypeGuards.isPropertyAccessToken(first);
}

function renderText(parsed: ReturnType<Liquid['parse']>, scope: Scope): string {
  const context = new Context(scope, texts.options, { sync: true });
  const emitter = {
    buffer: '',
    write(part: unknown) {
      emitter.buffer += typeof part === 'string' ? part : plainTextForm(part);
      if (emitter.buffer.length > templateLimits.maxCharacters) throw new TemplateError('its text is too long');
    },
  };
  // As `renderSync` does, with a text that is bounded while it is written.
  toValueSync(texts.renderer.renderTemplates(parsed, context, emitter) as Generator<unknown, unknown>);
  return emitter.buffer.toWellFormed();
}

function valueOf(output: Output, scope: Scope): Json {
  const context = new Context(scope, values.options, { sync: true });
  const value: unknown = toValueSync(output.value.value(context, false) as Generator<unknown, unknown>);
  const { problem } = measureJson(value, templateLimits);
  if (problem !== undefined) throw new TemplateError(`its value ${problem}`);
  // A copy, so that Liquid's own objects become data.
  return (JSON.parse(JSON.stringify(value) ?? 'null') as Json) ?? null;
}

function reasoned<Result>(render: () => Result): Result {
  try {
    return render();
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
}

/** The message of liquidjs, without its quotation of the template. */
function reasonOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : 'it fails').split('\n');
  return (line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}…` : line).toWellFormed();
}

function dialect(liquid: Liquid): Liquid {
  for (const tag of leftOutTags) delete liquid.tags[tag];
  for (const filter of leftOutFilters) delete liquid.filters[filter];
  liquid.options.memoryLimit = memoryUnits;
  return liquid;
}

function written(segments: unknown[]): NameRead {
  return segments.map((segment) => (typeof segment === 'string' ? segment : undefined));
}
