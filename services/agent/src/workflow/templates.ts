import { measureJson } from '@parley/json-schema/json-size';
import { plainTextForm, templateEngine, templateProblem } from '@parley/text/template-engine';
import { Context, type Liquid, Output, TypeGuards, toValueSync } from 'liquidjs';
import { LRUCache } from 'lru-cache';
import type { Json } from './definition.ts';
import type { NameRead, Scope } from './scope.ts';

export interface Template {
  /** Renders the text. @throws Error with the reason why it cannot be rendered */
  text(scope: Scope): string;
  /** Returns the value itself if the template is exactly one output, `{{ … }}`; otherwise the text. @throws Error as `text` does */
  value(scope: Scope): Json;
  reads: NameRead[];
  /** Set if the template consists of one name, whose value it writes unchanged. */
  repeats?: NameRead | undefined;
}

/** Thrown for a template that does not compile. The message completes the sentence "<path> …". */
export class TemplateError extends Error {}

export const templateLimits = { maxCharacters: 100_000, maxBytes: 262_144, maxDepth: 32, maxValues: 20_000 };

const memoryUnits = 1_000_000;
const maxReasonLength = 200;

/**
 * Tags that templates may not use: `capture` stores text that no limit counts; the other three use counters, which are not part of the
 * scope.
 */
const disabledTags = ['capture', 'increment', 'decrement', 'cycle'];

/**
 * Filters that templates may not use. The first three can nest a list in itself, so that few steps make an endless text; the results of the
 * last three vary from one rendering to the next.
 */
const disabledFilters = ['push', 'unshift', 'group_by', 'sample', 'sha256', 'hmac_sha256'];

const texts = dialect(templateEngine());
const values = dialect(templateEngine());
// Rendering with `values` keeps the type of an output. Rendering with `texts` formats outputs with `outputEscape`.
Object.assign(values.options, { outputEscape: undefined });

const kept = new LRUCache<string, Template>({ max: 2_000, maxSize: 4_194_304 });

/**
 * Compiles a Liquid template; the README of this folder describes the dialect. The template does not limit the time of rendering: the
 * caller must limit it, as the engine does.
 * @throws TemplateError if the source does not compile
 */
export function compileTemplate(source: string): Template {
  const known = kept.get(source);
  if (known) return known;
  const made = countTags(source) === 0 ? constant(source) : compile(source);
  kept.set(source, made, { size: source.length + 100 });
  return made;
}

/** Returns the number of tags and outputs, which determines the time of parsing. */
export function countTags(source: string): number {
  return (source.match(/\{[{%]/gu) ?? []).length;
}

/** Returns the number of characters within tags and outputs. Like the number of tags, it determines the time of parsing. */
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

/**
 * Returns the index at which a tag or output ends. Closing signs within quotes do not count. A tag or output that is
 * not closed ends with the text.
 */
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

/** Renders each string of a JSON value as a template. Keys stay as they are. */
export function renderJson(json: Json, scope: Scope): Json {
  if (typeof json === 'string') return compileTemplate(json).value(scope);
  if (Array.isArray(json)) return json.map((each) => renderJson(each, scope));
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([key, each]) => [key, renderJson(each, scope)]));
}

/** Yields all strings of a JSON value with their paths. */
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

/** Reports whether an output is only a path, `{{ a.b }}`, without filter or operator. */
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
  // Renders as `renderSync` does, and limits the text while it is written.
  toValueSync(texts.renderer.renderTemplates(parsed, context, emitter) as Generator<unknown, unknown>);
  return emitter.buffer.toWellFormed();
}

function valueOf(output: Output, scope: Scope): Json {
  const context = new Context(scope, values.options, { sync: true });
  const value: unknown = toValueSync(output.value.value(context, false) as Generator<unknown, unknown>);
  const { problem } = measureJson(value, templateLimits);
  if (problem !== undefined) throw new TemplateError(`its value ${problem}`);
  // Copies the value, so that Liquid's own objects become plain data.
  return (JSON.parse(JSON.stringify(value) ?? 'null') as Json) ?? null;
}

function reasoned<Result>(render: () => Result): Result {
  try {
    return render();
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
}

/** Returns the message of liquidjs, without its quotation of the template. */
function reasonOf(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : 'it fails').split('\n');
  return (line.length > maxReasonLength ? `${line.slice(0, maxReasonLength)}…` : line).toWellFormed();
}

function dialect(liquid: Liquid): Liquid {
  for (const tag of disabledTags) delete liquid.tags[tag];
  for (const filter of disabledFilters) delete liquid.filters[filter];
  liquid.options.memoryLimit = memoryUnits;
  return liquid;
}

function written(segments: unknown[]): NameRead {
  return segments.map((segment) => (typeof segment === 'string' ? segment : undefined));
}
