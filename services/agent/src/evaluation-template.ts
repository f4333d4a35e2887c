import { Liquid } from 'liquidjs';

/** Templates are the tenant's: nothing is read from files, and parsing is bounded. */
const liquid = new Liquid({ templates: {}, parseLimit: 200_000, ownPropertyOnly: true });
for (const tag of ['include', 'render', 'layout']) delete liquid.tags[tag];

/** Why a text is no usable evaluation template, as a message to the owner; undefined when it is one. */
export function whyNoTemplate(template: string): string | undefined {
  try {
    liquid.parse(template);
    return undefined;
  } catch (error) {
    // Only the first line: what follows quotes the template around the fault.
    const [reason] = error instanceof Error ? error.message.split('\n') : [];
    return `is not a Liquid template: ${(reason ?? 'it does not parse').slice(0, 200)}`;
  }
}
