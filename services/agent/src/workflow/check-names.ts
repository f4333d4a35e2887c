import { definitionLimits, type WorkflowDefinition, type WorkflowIssue, type WorkflowNode } from './definition.ts';
import { compileExpression } from './expressions.ts';
import { type NameRead, nameChecker } from './scope.ts';
import { compileTemplate, countCode, countTags, templatesOf } from './templates.ts';

interface Source {
  path: string;
  source: string;
}

/** Compiles all templates and expressions, and reports the names in them that do not exist. */
export function checkNames(definition: WorkflowDefinition): WorkflowIssue[] {
  const templates = sources(definition, templatesIn);
  const expressions = sources(definition, expressionsIn);
  const tags = templates.reduce((sum, { source }) => sum + countTags(source), 0);
  const characters = expressions.reduce((sum, { source }) => sum + source.length, 0);
  const { maxTemplateTags, maxTemplateCode, maxExpressionCharacters } = definitionLimits;
  if (tags > maxTemplateTags) {
    return [
      { path: 'nodes', message: `must have at most ${maxTemplateTags} tags and outputs in all templates together` },
    ];
  }
  if (templates.reduce((sum, { source }) => sum + countCode(source), 0) > maxTemplateCode) {
    return [
      {
        path: 'nodes',
        message: `must have at most ${maxTemplateCode} characters within the tags and outputs of all templates together`,
      },
    ];
  }
  if (characters > maxExpressionCharacters) {
    return [
      { path: 'nodes', message: `must have at most ${maxExpressionCharacters} characters in all expressions together` },
    ];
  }
  const nameProblem = nameChecker(definition);
  const check = (compile: (source: string) => { reads: NameRead[] }) => (each: Source) =>
    problems(each, compile, nameProblem);
  return [...templates.flatMap(check(compileTemplate)), ...expressions.flatMap(check(compileExpression))];
}

function problems(
  { path, source }: Source,
  compile: (source: string) => { reads: NameRead[] },
  nameProblem: (read: NameRead) => string | undefined,
): WorkflowIssue[] {
  try {
    const found = compile(source).reads.map(nameProblem);
    return [...new Set(found)].flatMap((message) => (message === undefined ? [] : [{ path, message }]));
  } catch (error) {
    return [{ path, message: error instanceof Error ? error.message : 'cannot be compiled' }];
  }
}

function sources(definition: WorkflowDefinition, of: (node: WorkflowNode, path: string) => Source[]): Source[] {
  return Object.entries(definition.nodes).flatMap(([id, node]) => of(node, `nodes.${id}`));
}

function templatesIn(node: WorkflowNode, path: string): Source[] {
  switch (node.kind) {
    case 'llm':
      return [
        { path: `${path}.prompt`, source: node.prompt },
        ...(node.system === undefined ? [] : [{ path: `${path}.system`, source: node.system }]),
      ];
    case 'router':
      return [{ path: `${path}.instruction`, source: node.instruction }];
    case 'tool':
    case 'action':
      return [...templatesOf(node.args, `${path}.args`)];
    case 'response':
      return [
        { path: `${path}.text`, source: node.text },
        ...templatesOf(node.structuredContent ?? {}, `${path}.structuredContent`),
      ];
    case 'condition':
      return [];
  }
}

function expressionsIn(node: WorkflowNode, path: string): Source[] {
  if (node.kind !== 'condition') return [];
  return node.cases.map(({ when }, index) => ({ path: `${path}.cases.${index}.when`, source: when }));
}
