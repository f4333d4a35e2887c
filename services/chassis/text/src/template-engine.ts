import { type Context, Liquid } from 'liquidjs';

/** Filters to which liquidjs applies neither its time limit nor its memory limit. */
const unbounded = /_exp$|^(?:find|find_index|has|sum)$/;

type TextForm = (this: { context: Context }, value: unknown) => string;

/**
 * The Liquid dialect of tenants' templates, for validation and rendering.
 * - No tags that read files (`include`, `render`, `layout`). No filters that evaluate expressions, search or sum: liquidjs runs them
 *   without a limit, and they can be nested. An unknown filter is an error.
 * - Limits that liquidjs checks: 200,000 characters parsed, 500 ms of rendering, 5,000,000 units of memory as liquidjs counts them. Render
 *   with the methods that end in `Sync`: the time limit is in wall-clock time, which other work would use up during an await.
 * - liquidjs checks these limits between steps only. One step, such as writing a list that contains itself, can take hours and all memory.
 *   So a service only parses in its own process (40 ms for the 20,000 characters that a tenant's template may have). It renders in a
 *   process that can be killed, as evaluation's `template-renderer.ts` does.
 * @param textForm formats values that are not strings; default `plainTextForm`. Liquid itself would write `[object Object]`.
 */
export function templateEngine(textForm: (value: unknown) => string = plainTextForm): Liquid {
  const written: TextForm = function (value) {
    if (typeof value === 'string') return value;
    const text = value === undefined || value === null ? '' : textForm(value);
    this.context.memoryLimit.use(text.length);
    return text;
  };
  const liquid = new Liquid({
    templates: {}, // empty, so that liquidjs does not read templates from the file system
    ownPropertyOnly: true,
    strictFilters: true,
    parseLimit: 200_000,
    renderLimit: 500,
    memoryLimit: 5_000_000,
    outputEscape: written,
  });
  for (const tag of ['include', 'render', 'layout', 'block']) delete liquid.tags[tag];
  for (const filter of Object.keys(liquid.filters)) if (unbounded.test(filter)) delete liquid.filters[filter];
  return liquid;
}

/** Formats numbers and booleans as text, lists as items separated by commas, and objects as JSON. */
export function plainTextForm(value: unknown): string {
  if (Array.isArray(value)) return value.map((each) => (isText(each) ? String(each) : JSON.stringify(each))).join(', ');
  return isText(value) ? String(value) : JSON.stringify(value);
}

/** Reports whether a value is formatted with `String`, not as JSON: a primitive, or one of Liquid's own objects (a range, `blank`). */
function isText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return !Array.isArray(value) && prototype !== Object.prototype && prototype !== null;
}

/**
 * Returns why a text is not a valid template, with the position but without a quotation; undefined if the template is valid. The returned
 * text continues a message that begins with the field's path.
 */
export function templateProblem(engine: Liquid, text: string): string | undefined {
  try {
    engine.parse(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const place = /line:(\d+), col:(\d+)/.exec(message);
    return `${whatIsWrong(message)}${place ? `: line ${place[1]}, column ${place[2]}` : ''}`;
  }
}

/** Derives the problem from the message of liquidjs, which itself must not be shown because it quotes the template. */
function whatIsWrong(message: string): string {
  if (message.startsWith('undefined filter')) return 'uses an unknown filter';
  if (/^tag .* not found/su.test(message)) return 'uses a tag that is unknown, or not allowed here';
  if (/^(?:tag|output|raw) .* not closed/su.test(message)) return 'has a tag or output that is not closed';
  return 'is not a Liquid template';
}
