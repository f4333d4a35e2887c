/** The files of `@parley/embed` that a page can include, by name. */
export const bundles = {
  /** The client: an ES module. */
  'parley-client.js': { entry: '@parley/embed', format: 'esm' },
  /** The widget with its client: a script that defines `<parley-chat>`. */
  'parley-chat.js': { entry: '@parley/embed/parley-chat', format: 'iife' },
} as const;

export type BundleName = keyof typeof bundles;
