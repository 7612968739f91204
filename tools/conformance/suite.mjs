// The public suite for HTTP caches (npm package http-cache-tests, https://cache-tests.fyi), run or read without its own command line,
// whose output has neither the kind of a test nor its dependencies.
//
//   node suite.mjs run http://127.0.0.1:8080   runs it against the cache at that address, whose origin must be the suite's server
//   node suite.mjs published                   reads the results that the suite ships
//
// Prints JSON in the form of Go's types caseResult and published (test/conformance/conformance_test.go).
import fs from 'node:fs'
import fetch from 'node-fetch'
import * as config from 'http-cache-tests/client/config.mjs'
import { makeCacheTest, testResults } from 'http-cache-tests/client/test.mjs'
import { determineTestResult } from 'http-cache-tests/lib/display.mjs'
import index from 'http-cache-tests/results/index.mjs'
import chapters from 'http-cache-tests/tests/index.mjs'
import surrogate from 'http-cache-tests/tests/surrogate-control.mjs'

chapters.push(surrogate) // as the suite's command line does
const cases = chapters.flatMap(chapter => chapter.tests.filter(test => !test.browser_only))
const atOnce = 100 // as the suite's own runner

async function runAll (tests) {
  for (let i = 0; i < tests.length; i += atOnce) await Promise.all(tests.slice(i, i + atOnce).map(test => makeCacheTest(structuredClone(test)))) // because makeCacheTest modifies its argument
}

// A test whose setup failed has no result, often by accident: for example, a request was sent twice because the origin had closed an
// idle connection. Such a test runs once more.
async function repeat () {
  const again = cases.filter(test => testResults[test.id][0] === 'Setup')
  again.forEach(test => delete testResults[test.id])
  await runAll(again)
}

// The suite's own rule: a test whose dependency failed has not passed.
function judged (results) {
  const says = (id, dependencies) => ['✅', 'Y'].includes(determineTestResult(chapters, id, results, dependencies)[2])
  return chapters.flatMap(chapter => chapter.tests.filter(test => !test.browser_only).map(test => ({
    chapter: chapter.name,
    id: test.id,
    kind: test.kind ?? 'required',
    depends_on: test.depends_on ?? [],
    passed: says(test.id, true),
    alone: says(test.id, false),
    why: results[test.id]?.[1] ?? ''
  })))
}

function published () {
  const text = file => fs.readFileSync(new URL(import.meta.resolve(`http-cache-tests/results/${file}`)), 'utf8')
  return index.filter(item => item.type !== 'browser').map(item => ({
    name: item.name, version: item.version, tests: judged(JSON.parse(text(item.file)))
  }))
}

// Exit explicitly, because connections that a cache keeps open would delay the exit for minutes.
function say (answer) {
  process.stdout.write(JSON.stringify(answer), () => process.exit())
}

const [what, base] = process.argv.slice(2)
if (what === 'published') {
  say(published())
} else {
  config.setFetch(fetch)
  config.setBaseUrl(base)
  await runAll(cases)
  await repeat()
  say(judged(testResults))
}
