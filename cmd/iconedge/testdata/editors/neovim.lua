-- The checks of cmd/iconedge/editors_test.go. They use only what Neovim 0.7 has.
local failed = false
local function check(what, ok, got)
  if not ok then
    failed = true
    io.stdout:write('FAILED: ' .. what .. ': ' .. vim.inspect(got) .. '\n')
  else
    io.stdout:write('ok: ' .. what .. '\n')
  end
end
local function finish()
  io.stdout:write(failed and 'some checks failed\n' or 'all checks passed\n')
  vim.cmd(failed and 'cquit 1' or 'qall!')
end

local base = os.getenv('ICONEDGE_API'):gsub('/$', '')
local function open(name, type, lines)
  vim.cmd('edit! ' .. name)
  vim.bo.filetype = type
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  local id = vim.lsp.start_client({ cmd = { os.getenv('ICONEDGE_PROGRAM'), 'lsp' }, name = 'iconedge', root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(0, id)
  check('the server starts for ' .. name, vim.wait(15000, function()
    local client = vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end, 20), id)
  return id
end
local function request(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 15000) or {}
  for _, a in pairs(answers) do
    return a.result, a.err or a.error
  end
end
local function place(line, character)
  return { textDocument = vim.lsp.util.make_text_document_params(), position = { line = line, character = character } }
end
local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

local function run()
  local id = open('a.html', 'html', { '<p>“😀” mdi:home</p>', '<p>mdi:hoome text/html</p>', 'mdi:trash' })

  -- Diagnostics.
  check('a warning about the unknown name alone', vim.wait(15000, function() return #vim.diagnostic.get(0) == 1 end, 50), vim.diagnostic.get(0))
  local d = vim.diagnostic.get(0)[1] or {}
  check('its place, source and code', d.lnum == 1 and d.col == 3 and d.end_col == 12 and d.source == 'iconedge' and d.severity == vim.diagnostic.severity.WARN, d)

  -- Hover, after characters of several UTF-16 units.
  local hover = request('textDocument/hover', place(0, 9)) or {}
  check('hover has picture, licence and credit', hover.contents and hover.contents.value:find('data:image/svg+xml;base64,', 1, true)
    and hover.contents.value:find('Apache-2.0', 1, true) and hover.contents.value:find('Pictogrammers', 1, true), hover)
  vim.api.nvim_win_set_cursor(0, { 1, 16 })
  vim.lsp.buf.hover()
  check('Neovim shows the hover', vim.wait(10000, function() return #vim.api.nvim_list_wins() > 1 end, 20), vim.api.nvim_list_wins())
  for _, w in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(w).relative ~= '' then vim.api.nvim_win_close(w, true) end
  end

  -- Quick fix, as a person applies it.
  local actions = request('textDocument/codeAction', { textDocument = vim.lsp.util.make_text_document_params(),
    range = { start = { line = 1, character = 5 }, ['end'] = { line = 1, character = 5 } }, context = { diagnostics = {} } }) or {}
  check('a quick fix', actions[1] and actions[1].kind == 'quickfix' and actions[1].title == 'Replace by mdi:home', actions)
  if actions[1] then
    vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
    check('the fixed line', lines()[2] == '<p>mdi:home text/html</p>', lines())
    check('no warning is left', vim.wait(15000, function() return #vim.diagnostic.get(0) == 0 end, 50), vim.diagnostic.get(0))
  end

  -- Completion by a synonym.
  local found = request('textDocument/completion', place(2, 9)) or {}
  check('completion is incomplete, and at most 50', found.isIncomplete == true and #found.items > 3 and #found.items <= 50, #(found.items or {}))
  local labels = vim.tbl_map(function(i) return i.label end, found.items or {})
  check('completion finds a synonym', vim.tbl_contains(labels, 'mdi:recycle'), labels)
  local shown = vim.lsp.util.text_document_completion_list_to_complete_items(found, 'mdi:trash')
  check('Neovim 0.7 offers those that begin with the typed text; later ones offer all', #shown > 3, #shown)
  local item = (found.items or {})[1] or {}
  check('filterText is what was typed', item.filterText == 'mdi:trash' and item.detail == 'Apache-2.0' and item.sortText == '00', item)
  local resolved = request('completionItem/resolve', item) or {}
  check('resolve adds picture and credit', resolved.documentation and resolved.documentation.value:find('data:image/svg+xml;base64,', 1, true)
    and resolved.documentation.value:find('Pictogrammers', 1, true), resolved)

  -- Links.
  local links = request('textDocument/documentLink', { textDocument = vim.lsp.util.make_text_document_params() }) or {}
  check('links lead to the CDN', links[1] and links[1].target == base .. '/mdi/home.svg' and links[1].range.start.character == 8, links)

  -- The command, and one undo.
  local before = table.concat(lines(), '\n')
  vim.cmd('let &undolevels = &undolevels')
  local _, err = request('workspace/executeCommand', { command = 'iconedge.insert', arguments = { vim.uri_from_bufnr(0), { line = 0, character = 3 }, 'mdi:home', 'svg' } })
  local after = table.concat(lines(), '\n')
  check('iconedge.insert inserts the SVG with its credit', not err and after:find('<!-- mdi/home: license Apache-2.0', 1, true) and after:find('<svg xmlns', 1, true), err or after)
  vim.cmd('silent undo')
  check('one undo reverts it', table.concat(lines(), '\n') == before, lines())
  local _, refused = request('workspace/executeCommand', { command = 'iconedge.insert', arguments = { vim.uri_from_bufnr(0), { line = 0, character = 3 }, 'mdi:nope-nope', 'svg' } })
  check('an unknown icon is refused, and nothing changes', refused and table.concat(lines(), '\n') == before, refused)

  local server = vim.lsp.get_client_by_id(id)
  server.stop()
  check('the server stops', vim.wait(10000, function() return server.is_stopped() end, 20), nil)
  finish()
end
vim.schedule(function()
  local ok, err = xpcall(run, debug.traceback)
  if not ok then
    check('no error', false, err)
    finish()
  end
end)
