import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';

/** The person a session talks to, as verified by the identity provider. */
export interface VerifiedIdentity {
  /** The person's permanent subject at the provider. */
  subject: string;
  /** Null if the provider has not verified an email. */
  email: string | null;
  fullname: string | null;
  /** The person's company. */
  company: string | null;
  /** The person's subjects in products of the provider; at most one per product. */
  products: LinkedIdentity[];
  /**
   * Set until all tickets of the call that identified the person are exchanged, so that a retry of the call can
   * continue.
   */
  unfinished?: Unfinished;
}

export interface Unfinished {
  /** The hash of the person's ticket, which is used up, in hexadecimal. */
  ticketSha256: string;
  /** Products whose tickets in that call are used up. */
  products: string[];
}

/** Returns the identity with a product's subject added or replaced. */
export function withProduct(identity: VerifiedIdentity, linked: LinkedIdentity): VerifiedIdentity {
  const others = identity.products.filter(({ product }) => product !== linked.product);
  return { ...identity, products: [...others, linked] };
}

/** The part that workflows see, without the subjects of products. */
export function identityForWorkflows(identity: VerifiedIdentity): object {
  const { products, unfinished: _, ...person } = identity;
  return { ...person, linkedProducts: products.map(({ product }) => product) };
}
