type UseCase = (dependencies: never, ...given: never[]) => unknown;

/** Use cases without their first argument. */
export type Bound<UseCases extends Record<string, UseCase>> = {
  [Name in keyof UseCases]: UseCases[Name] extends (dependencies: never, ...given: infer Given) => infer Answer
    ? (...given: Given) => Answer
    : never;
};

/** Binds use cases to their dependencies, for tests that call many of them. */
export function bound<UseCases extends Record<string, UseCase>>(
  useCases: UseCases,
  dependencies: Parameters<UseCases[keyof UseCases]>[0],
): Bound<UseCases> {
  const entries = Object.entries(useCases).map(([name, useCase]) => [
    name,
    (...given: never[]) => useCase(dependencies, ...given),
  ]);
  return Object.fromEntries(entries);
}
