import { Liquid } from 'liquidjs';

/**
 * The Liquid that tenants' templates are written in, the same where they are checked and where they are filled. It reaches no
 * files: there is no `include`, `render` or `layout`. A filter that does not exist is an error of the template. Bounded per
 * template: 200,000 characters parsed, 500 ms of rendering, 5,000,000 units of memory as liquidjs counts them. Render with the
 * methods that end in `Sync`: the time is that of the clock, and a template that pauses would pay for those that run meanwhile.
 */
export function templateEngine(): Liquid {
  const liquid = new Liquid({
    templates: {}, // in place of the file system
    ownPropertyOnly: true,
    strictFilters: true,
    parseLimit: 200_000,
    renderLimit: 500,
    memoryLimit: 5_000_000,
  });
  for (const tag of ['include', 'render', 'layout', 'block']) delete liquid.tags[tag];
  return liquid;
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
