import { type Caller, inTenant, serviceCaller, type TenantCaller } from './caller.ts';

/** What a use case is asked with, as `(ports, request, input)`. The context of a gRPC handler is one. */
export interface CallerRequest<C extends Caller = Caller> {
  caller: C;
  /** Aborts when whoever asked has left. */
  signal: AbortSignal;
  /** Stands for the request's `Idempotency-Key`: commit the effect under it (`onceUnder` of `@parley/postgres`). */
  effectKey?: string | undefined;
}

/** The request of a caller who is in a tenant. Edges make it; a use case that needs a tenant demands it. */
export type TenantRequest = CallerRequest<TenantCaller>;

/** The same request, for a use case that needs a tenant. @throws DomainError as `inTenant` */
export function tenantRequest<Given extends CallerRequest>(request: Given): Given & TenantRequest {
  return { ...request, caller: inTenant(request.caller) };
}

/** A request that a unit makes by itself, in a job or for an event. */
export function serviceRequest(
  service: string,
  tenantId: number,
  requestId: string,
  signal: AbortSignal,
): TenantRequest {
  return { caller: inTenant(serviceCaller(service, tenantId, requestId)), signal };
}
