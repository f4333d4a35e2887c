import { parser } from '@prometheus-io/lezer-promql';

type SyntaxNode = ReturnType<typeof parser.parse>['topNode'];

/** The exported metrics that a query can use. */
export interface Exported {
  /** The labels of a metric for each unit that exports it, including those added by scrapes; undefined if no unit exports it. */
  labelsOf(metric: string): ReadonlyMap<string, ReadonlySet<string>> | undefined;
  /** All values that a label can have; undefined if they are unbounded. */
  valuesOf(metric: string, label: string): ReadonlySet<string> | undefined;
}

/** The labels of a query's result, and the parts of the query that can never match. */
export interface QueryLabels {
  /** The labels of the result; undefined if the result is a number. */
  labels: ReadonlySet<string> | undefined;
  problems: string[];
}

/** Derives the labels of a Prometheus query's result. @throws Error for syntax that it does not support, such as `on (…)`. */
export function queryLabels(query: string, exported: Exported): QueryLabels {
  const problems: string[] = [];
  const text = query.replaceAll('$__rate_interval', '5m');
  const textOf = ({ from, to }: SyntaxNode) => text.slice(from, to);
  const [root] = childrenOf(parser.parse(text).topNode);
  if (!root) throw new Error(`no query: ${query}`);
  const labels = labelsIn(root);
  return { labels, problems };

  function labelsIn(node: SyntaxNode): ReadonlySet<string> | undefined {
    switch (node.name) {
      case 'NumberDurationLiteral':
      case 'StringLiteral':
        return undefined;
      case 'ParenExpr':
      case 'MatrixSelector':
        return labelsIn(onlyVector(node));
      case 'VectorSelector':
        return ofSelector(node);
      case 'AggregateExpr':
        return ofAggregate(node);
      case 'FunctionCall':
        return ofCall(node);
      case 'BinaryExpr':
        return ofBinary(node);
      default:
        throw new Error(`${node.name} is not known: ${query}`);
    }
  }

  function onlyVector(node: SyntaxNode): SyntaxNode {
    const [child] = childrenOf(node);
    if (!child) throw new Error(`empty: ${textOf(node)}`);
    return child;
  }

  function ofSelector(node: SyntaxNode): ReadonlySet<string> {
    const name = node.getChild('Identifier');
    const metric = name ? textOf(name) : '';
    const byUnit = exported.labelsOf(metric);
    if (!byUnit) {
      problems.push(`no unit exports ${metric}`);
      return new Set();
    }
    const all = new Set([...byUnit.values()].flatMap((each) => [...each]));
    for (const matcher of node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []) {
      const [label = '', operator = '', value = ''] = childrenOf(matcher).map(textOf);
      if (all.has(label)) checkValues(metric, label, operator.endsWith('~'), value.slice(1, -1));
      else problems.push(`${metric} has no label ${label}`);
    }
    return intersection([...byUnit.values()]);
  }

  function checkValues(metric: string, label: string, isPattern: boolean, given: string): void {
    if (given === '' || given.startsWith('$')) return;
    const known = exported.valuesOf(metric, label);
    for (const value of isPattern ? given.split('|') : [given])
      if (known && !known.has(value)) problems.push(`${label} of ${metric} is never ${value}`);
  }

  function ofAggregate(node: SyntaxNode): ReadonlySet<string> | undefined {
    const operation = node.getChild('AggregateOp');
    const body = node.getChild('FunctionCallBody');
    const inner = body && childrenOf(body).at(-1);
    const labels = inner ? labelsIn(inner) : undefined;
    const modifier = node.getChild('AggregateModifier');
    if (!modifier) return operation && /^(?:topk|bottomk)$/u.test(textOf(operation)) ? labels : new Set();
    if (!modifier.getChild('By')) throw new Error(`without (…) is not known: ${query}`);
    const kept = modifier.getChild('GroupingLabels')?.getChildren('LabelName').map(textOf) ?? [];
    for (const label of kept) if (!labels?.has(label)) problems.push(`${textOf(inner ?? node)} has no label ${label}`);
    return new Set(kept);
  }

  function ofCall(node: SyntaxNode): ReadonlySet<string> | undefined {
    const named = node.getChild('FunctionIdentifier');
    const name = named ? textOf(named) : '';
    const given = childrenOf(node.getChild('FunctionCallBody')).map(labelsIn);
    const labels = given.find((each) => each !== undefined);
    if (name !== 'histogram_quantile') return name === 'absent' ? new Set() : labels;
    if (!labels?.has('le')) problems.push(`${textOf(node)} has no label le`);
    return new Set([...(labels ?? [])].filter((label) => label !== 'le'));
  }

  function ofBinary(node: SyntaxNode): ReadonlySet<string> | undefined {
    if (node.getChild('MatchingModifierClause')) throw new Error(`on and ignoring are not known: ${query}`);
    const [left, right] = [node.firstChild, node.lastChild].map((side) => (side ? labelsIn(side) : undefined));
    if (!left || !right) return left ?? right;
    if (node.getChild('Or')) return intersection([left, right]);
    // Series of the two operands match only if all of their labels are equal.
    if (intersection([left, right]).size < Math.max(left.size, right.size))
      problems.push(`both sides have other labels: ${textOf(node)}`);
    return left;
  }
}

function childrenOf(node: SyntaxNode | null): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node?.firstChild; child; child = child.nextSibling) {
    if (child.type.isError) throw new Error(`no PromQL at ${child.from}`);
    children.push(child);
  }
  return children;
}

function intersection(sets: ReadonlySet<string>[]): ReadonlySet<string> {
  return sets.reduce((common, each) => new Set([...common].filter((label) => each.has(label))));
}
