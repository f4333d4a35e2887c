import type { Caller } from '@parley/kernel/caller';
import { type CallerRequest, type TenantRequest, tenantRequest } from '@parley/kernel/caller-request';
import { requestOf } from './request-of.ts';

type UseCase = (dependencies: never, ...given: never[]) => unknown;

/** Use cases without their first argument. A use case that takes a request takes only the request's caller here. */
export type Bound<UseCases extends Record<string, UseCase>> = {
  [Name in keyof UseCases]: UseCases[Name] extends (dependencies: never, ...given: infer Given) => infer Answer
    ? (...given: WithCaller<Given>) => Answer
    : never;
};

type WithCaller<Given extends unknown[]> = Given extends [infer Request extends CallerRequest, ...infer Rest]
  ? [asker: Request | Request['caller'], ...Rest]
  : Given;

/**
 * Binds use cases to their dependencies, for tests that call many of them. The given caller becomes a request that has no effect key and
 * whose client never disconnects.
 */
export function bound<UseCases extends Record<string, UseCase>>(
  useCases: UseCases,
  dependencies: Parameters<UseCases[keyof UseCases]>[0],
): Bound<UseCases> {
  const entries = Object.entries(useCases).map(([name, useCase]) => [
    name,
    (first: never, ...rest: never[]) =>
      useCase(dependencies, (isCaller(first) ? requestOf(first) : first) as never, ...rest),
  ]);
  return Object.fromEntries(entries);
}

type AtEdge<UseCases extends Record<string, UseCase>> = {
  [Name in keyof UseCases]: UseCases[Name] extends (
    ports: infer Ports,
    request: TenantRequest,
    ...given: infer Given
  ) => infer Answer
    ? (ports: Ports, request: CallerRequest, ...given: Given) => Promise<Awaited<Answer>>
    : never;
};

/** Lets any caller call use cases that need a tenant. A caller without a tenant is refused with `NO_TENANT`, as at an edge. */
export function atEdge<UseCases extends Record<string, UseCase>>(useCases: UseCases): AtEdge<UseCases> {
  const entries = Object.entries(useCases).map(([name, useCase]) => [
    name,
    async (ports: never, request: CallerRequest, ...given: never[]) =>
      useCase(ports, tenantRequest(request) as never, ...given),
  ]);
  return Object.fromEntries(entries);
}

function isCaller(given: unknown): given is Caller {
  return typeof given === 'object' && given !== null && 'kind' in given && 'requestId' in given;
}
