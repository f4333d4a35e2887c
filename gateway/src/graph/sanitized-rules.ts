import {
  type ASTNode,
  type DocumentNode,
  GraphQLError,
  getNamedType,
  isInputObjectType,
  Kind,
  type ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  visit,
} from 'graphql';

/** Reports each error once per location and without values of the document, which may be secret. */
export function sanitizedRules(rules: readonly ValidationRule[]): ValidationRule[] {
  const reported = new Map<unknown, Set<string>>();
  let places: Places | undefined;

  function isNew({ nodes: [node] = [], message }: GraphQLError, document: DocumentNode): boolean {
    places ??= placesOf(document);
    const { holder, path } = places(node);
    const problems = reported.get(holder) ?? new Set();
    reported.set(holder, problems);
    return problems.size < problems.add(`${path} ${message}`).size;
  }

  return rules.map((rule) => (context: ValidationContext) => {
    const reportError = (error: GraphQLError) => {
      const redacted = rule === ValuesOfCorrectTypeRule ? redact(context, error) : error;
      if (isNew(redacted, context.getDocument())) context.reportError(redacted);
    };
    return rule(Object.create(context, { reportError: { value: reportError } }) as ValidationContext);
  });
}

/** Returns the field, selection or definition that encloses a node, and the path from there to the node. */
type Places = (node: ASTNode | undefined) => { holder: ASTNode | undefined; path: string };

const holders: ReadonlySet<Kind> = new Set([
  Kind.DOCUMENT,
  Kind.OPERATION_DEFINITION,
  Kind.FRAGMENT_DEFINITION,
  Kind.SELECTION_SET,
  Kind.FIELD,
]);

/** Nodes outside list values are identified by name, so repeated uses of one directive count as one location. */
function placesOf(document: DocumentNode): Places {
  const stands = new Map<ASTNode, { parent: ASTNode | undefined; name: string }>();
  visit(document, {
    enter(node, key, parent, _path, ancestors) {
      const isListed = isNodes(parent);
      const above = isListed ? ancestors.at(-1) : parent;
      const name = isListed && above && !isNodes(above) && above.kind === Kind.LIST ? String(key) : nameOf(node);
      stands.set(node, { parent: above && !isNodes(above) ? above : undefined, name });
    },
  });
  return (node) => {
    const names: string[] = [];
    let holder = node;
    do {
      const stand = holder && stands.get(holder);
      if (stand) names.push(stand.name);
      holder = stand?.parent;
    } while (holder && !holders.has(holder.kind));
    return { holder, path: names.join(' ') };
  };
}

function isNodes(nodes: ASTNode | readonly ASTNode[] | undefined): nodes is readonly ASTNode[] {
  return Array.isArray(nodes);
}

function nameOf(node: ASTNode): string {
  const named = node.kind === Kind.VARIABLE_DEFINITION ? node.variable : node;
  return `${node.kind}:${'name' in named && named.name ? named.name.value : ''}`;
}

/**
 * Returns the error without the literal that its message quotes: the message names the expected type. Errors about unknown and missing
 * fields stay as they are, with the fields' names.
 */
function redact(context: ValidationContext, error: GraphQLError): GraphQLError {
  const [node] = error.nodes ?? [];
  const type = context.getInputType();
  const isOfFields = node?.kind === Kind.OBJECT && isInputObjectType(getNamedType(type));
  if (node?.kind === Kind.OBJECT_FIELD || isOfFields) return error;
  return new GraphQLError(`Expected a value of type "${type}".`, { nodes: error.nodes ?? null });
}
