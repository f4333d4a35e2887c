import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';

/** Whom a session talks to, as the identity provider says. */
export interface VerifiedIdentity {
  /** Who it is at the provider, for ever. */
  subject: string;
  /** Null where the provider has verified none. */
  email: string | null;
  fullname: string | null;
  /** The name of where they work. */
  company: string | null;
  /** Who they are in products of the provider; one of each product. */
  products: LinkedIdentity[];
}

/** The later identity; products that were linked before stay so where it is the same person. */
export function withIdentity(before: VerifiedIdentity | null, verified: VerifiedIdentity): VerifiedIdentity {
  if (before?.subject !== verified.subject) return verified;
  const others = before.products.filter((old) => verified.products.every(({ product }) => product !== old.product));
  return { ...verified, products: [...others, ...verified.products] };
}

/** What a workflow sees: no subject of a product. */
export function identityForWorkflows(identity: VerifiedIdentity): object {
  const { products, ...person } = identity;
  return { ...person, linkedProducts: products.map(({ product }) => product) };
}
