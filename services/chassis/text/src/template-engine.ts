import { type Context, Liquid } from 'liquidjs';

/** Filters that liquidjs holds to neither of its limits while they run. */
const unbounded = /_exp$|^(?:find|find_index|has|sum)$/;

type TextForm = (this: { context: Context }, value: unknown) => string;

/**
 * The Liquid that tenants' templates are written in, the same where they are checked and where they are filled. It reaches no
 * files: there is no `include`, `render` or `layout`. Nor are there filters that evaluate expressions (`where_exp`), search
 * (`find`, `has`) or sum up: no limit looks at them while they work, and one within another takes any time. A filter that does not exist is an error of the template. Bounded per
 * template: 200,000 characters parsed, 500 ms of rendering, 5,000,000 units of memory as liquidjs counts them. Render with the
 * methods that end in `Sync`: the time is that of the clock, and a template that pauses would pay for those that run meanwhile.
 *
 * These limits are looked at between two steps: one step, such as to sort or write a list that holds itself, can take hours and any
 * memory. So a service only parses by itself (40 ms for the 20,000 characters that a template may have), and renders in a process
 * that can be ended, as evaluation's `template-renderer.ts` does.
 *
 * A value that is no text is written as `textForm` says, by default lists with commas between and objects as JSON: Liquid itself
 * would write `[object Object]` and join lists without a space.
 */
export function templateEngine(textForm: (value: unknown) => string = plainTextForm): Liquid {
  const written: TextForm = function (value) {
    if (typeof value === 'string') return value;
    const text = value === undefined || value === null ? '' : textForm(value);
    this.context.memoryLimit.use(text.length);
    return text;
  };
  const liquid = new Liquid({
    templates: {}, // in place of the file system
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

/** Numbers and the like as they are, lists with commas between, objects as JSON. */
export function plainTextForm(value: unknown): string {
  if (Array.isArray(value)) return value.map((each) => (isText(each) ? String(each) : JSON.stringify(each))).join(', ');
  return isText(value) ? String(value) : JSON.stringify(value);
}

/** What needs no other form: text, numbers, booleans. Liquid's own objects (a range, `blank`) have one too. */
function isText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return !Array.isArray(value) && prototype !== Object.prototype && prototype !== null;
}

/** Why a text is no template, naming the place and quoting nothing; undefined when it is one. Completes "<path> …". */
export function whyNoTemplate(engine: Liquid, text: string): string | undefined {
  try {
    engine.parse(text);
    return undefined;
  } catch (error) {
    const place = /line:(\d+), col:(\d+)/.exec(error instanceof Error ? error.message : '');
    return `is not a Liquid template${place ? `: line ${place[1]}, column ${place[2]}` : ''}`;
  }
}
