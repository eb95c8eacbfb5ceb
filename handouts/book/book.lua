-- SPDX-License-Identifier: (MIT OR GPL-2.0-only)
--
-- A pandoc filter that makes a book of the handouts, for scripts/book.sh. As LaTeX it returns the whole
-- book. As HTML it writes a page for each handout into a folder itself, with the template that the
-- command line names. The chapters are the handouts to which the course's page links, in the order of
-- the links. The filter reads these metadata:
--   root        the top folder of the kit
--   instructor  "1": include the answers, and in the PDF also the pages for teachers
--   translated  a folder with handouts in the language of the book; empty for English
--   words       words that the book adds to the text (book.yaml); words.untranslated follows the title
--               of a page that is in English only
--   landing, teachers  the text of the first page
--   site        HTML only: the folder for the pages
--   languages   HTML only: "LANG=NAME=FOLDER/" for each language; FOLDER/ is empty for the first one

local COURSE = "handouts/README.md"
-- The paths of the pages for teachers begin with this text. These pages are not exported.
local INSTRUCTOR = "handouts/instructor"
-- The answers. They are folded under the questions, for instructors and in an export with answers.
local ANSWERS = "handouts/answers.md"
local MARKDOWN = "gfm+tex_math_dollars+east_asian_line_breaks"
-- The heading above the questions, in English. Pages and headings that are not translated have this
-- heading in a book of any language; translated pages have the heading words.questions.
local QUESTIONS = "Questions"
-- The largest number of characters in a printed line of code, with the font size of book.tex.
local PRINTED = 104

local html = FORMAT:match("html") ~= nil
local root, translated, site, languages, words
-- The page being converted.
local page = COURSE

-- End pandoc. scripts/book.sh shows only this line of pandoc's log.
local function fail(message)
  io.stderr:write("book: ", page, ": ", message, "\n")
  os.exit(1)
end

-- Open a file of the kit, in the language of the book if it is translated.
local function open(path)
  local other = translated ~= "" and path:match("^handouts/(.*)")
  return other and io.open(translated .. "/" .. other, "rb") or io.open(root .. "/" .. path, "rb")
end

local function exists(path)
  local file = open(path)
  if file then
    file:close()
  end
  return file ~= nil
end

local function read(path)
  local file = open(path) or fail(path .. " not found")
  local text = file:read("a") or fail(path .. " cannot be read")
  file:close()
  return text
end

-- Write a file of the site.
local function write(name, text)
  local file = io.open(site .. "/" .. name, "wb") or fail("cannot write " .. name)
  file:write(text)
  file:close()
end

-- Return the path, from the top of the kit, of the file to which the page at path links.
local function resolve(path, target)
  local parts = {}
  for part in (path:gsub("[^/]*$", "") .. target):gmatch("[^/]+") do
    if part == ".." then
      table.remove(parts)
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

local function escape(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

-- Return the name of a page, which its file on the web and its links in the PDF use.
local function anchor(path)
  return path == COURSE and "course" or path:gsub("/README%.md$", ".md"):match("([^/]*)%.md$")
end

-- Return the link to a heading (place) of a page, or to the page if place is empty.
local function address(path, place)
  if html then
    return anchor(path) .. ".html" .. (place ~= "" and "#" .. place or "")
  end
  return "#" .. anchor(path) .. (place ~= "" and "-" .. place or "")
end

-- Give the headings of a translated page the identifiers of the English headings.
local function same_identifiers(path, text)
  local file = io.open(root .. "/" .. path, "rb") or fail(path .. " not found")
  local headers, i = {}, 0
  pandoc.read(file:read("a"), MARKDOWN):walk({
    Header = function(header)
      headers[#headers + 1] = header.identifier
    end,
  })
  file:close()
  return text:walk({
    Header = function(header)
      i = i + 1
      header.identifier = headers[i] or fail("it has more headings than the English text")
      return header
    end,
  })
end

-- Return whether a text has Chinese characters.
local function wide(text)
  for _, code in utf8.codes(text) do
    if code >= 0x2E80 then
      return true
    end
  end
  return false
end

-- Return the pages of the book in order: path, text (as a pandoc document), title.
local function chapters(instructor)
  local paths, seen = { COURSE }, { [COURSE] = true }
  pandoc.read(read(COURSE), MARKDOWN):walk({
    Link = function(link)
      local path = resolve(COURSE, (link.target:gsub("#.*", "")))
      local wanted = html or instructor or path:sub(1, #INSTRUCTOR) ~= INSTRUCTOR
      if path:match("^handouts/.*%.md$") and wanted and not seen[path] and exists(path) then
        seen[path] = true
        paths[#paths + 1] = path
      end
    end,
  })
  local found = {}
  for i, path in ipairs(paths) do
    local text = pandoc.read(read(path), MARKDOWN)
    local first = text.blocks[1]
    page = path
    if not first or first.t ~= "Header" or first.level ~= 1 then
      fail("it does not begin with a title")
    end
    if translated ~= "" then
      text = same_identifiers(path, text)
    end
    if words.untranslated and not wide(pandoc.utils.stringify(first)) then
      text.blocks[1].content:insert(pandoc.Str(words.untranslated))
      first = text.blocks[1]
    end
    found[i] = { path = path, id = anchor(path), text = text, title = pandoc.utils.stringify(first) }
    found[path] = found[i]
  end
  return found
end

-- Return the answers by page: a list of blocks for each question.
local function read_answers()
  local answers, mine = {}, nil
  for _, block in ipairs(pandoc.read(read(ANSWERS), MARKDOWN).blocks) do
    if block.t == "Header" then
      block:walk({
        Link = function(link)
          mine = {}
          answers[resolve(ANSWERS, link.target)] = mine
        end,
      })
    elseif block.t == "OrderedList" then
      for _, answer in ipairs(block.content) do
        mine[#mine + 1] = answer
      end
    end
  end
  return answers
end

-- Return an answer as it appears under its question: folded in HTML, after the word "Answer" on
-- paper.
local function folded(answer)
  local blocks = pandoc.List(answer)
  if html then
    blocks:insert(1, pandoc.RawBlock("html", '<details class="answer"><summary>' .. escape(words.answer) .. "</summary>"))
    blocks:insert(pandoc.RawBlock("html", "</details>"))
  else
    blocks[1] = pandoc.Para(blocks[1].content)
    blocks[1].content:insert(1, pandoc.Emph({ pandoc.Str(words.answer .. ". ") }))
  end
  return blocks
end

local function put_answers(chapter, answers)
  local questions, n = false, 0
  for _, block in ipairs(chapter.text.blocks) do
    if block.t == "Header" then
      local heading = pandoc.utils.stringify(block)
      questions = heading == QUESTIONS or heading == words.questions
    elseif questions and block.t == "OrderedList" then
      for _, item in ipairs(block.content) do
        n = n + 1
        if answers and answers[n] then
          item:extend(folded(answers[n]))
        end
      end
    end
  end
  if n ~= #(answers or {}) then
    page = chapter.path
    fail(("%d questions, and %d answers in %s"):format(n, #(answers or {}), ANSWERS))
  end
end

-- Cut a line that is too long for the page, if possible at a space.
local function cut(line, lines)
  while utf8.len(line) > PRINTED do
    local head = line:sub(1, utf8.offset(line, PRINTED + 1) - 1)
    local at = head:match("^.*%S() ") or #head + 1
    lines[#lines + 1] = line:sub(1, at - 1)
    line = "    " .. line:sub(at):gsub("^ +", "")
  end
  lines[#lines + 1] = line
end

-- Call line(text, typed) for each line of a session. typed is true for a line that the reader
-- types: after "$ ", or in a here-document.
local function session(text, line)
  local here
  for s in (text .. "\n"):gmatch("(.-)\n") do
    if here then
      line(s, true)
      here = s ~= here and here or nil
    else
      line(s, s:match("^%$ ") ~= nil)
      here = s:match("^%$ .*<<'?(%w+)")
    end
  end
end

-- Return a formula as MathML; leave it as it is for LaTeX.
local function formula(math)
  if not html then
    return math
  end
  local text = pandoc.write(pandoc.Pandoc({ pandoc.Plain({ math }) }), "html", { html_math_method = "mathml" })
  if not text:match("^<math") then
    fail("pandoc cannot convert the formula " .. math.text)
  end
  text = text:gsub("<annotation.-</annotation>", ""):gsub("<mo>mod</mo>", "<mi>mod</mi>")
  -- pandoc 2 marks every bracket as stretchy, which browsers draw too wide. Only the brackets of a
  -- matrix must stretch.
  if not math.text:match("\\left") then
    text = text:gsub('stretchy="true"( form="prefix">[^<]*</mo><mtable)', "stretchy=true%1")
      :gsub('(</mtable><mo )stretchy="true"', "%1stretchy=true"):gsub('stretchy="true"', 'stretchy="false"')
  end
  if math.mathtype == "DisplayMath" then
    text = '<span class="scroll">' .. text .. "</span>"
  end
  return pandoc.RawInline("html", text)
end

local TEX = { ["\\"] = "\\textbackslash{}", ["{"] = "\\{", ["}"] = "\\}" }

local function code(block)
  local kind = block.classes[1] or "text"
  if kind == "math" then
    return pandoc.Para({ formula(pandoc.Math("DisplayMath", block.text)) })
  end
  local lines = {}
  local function line(s, typed)
    if not html then
      local parts = {}
      cut(s, parts)
      for _, part in ipairs(parts) do
        part = part:gsub("[\\{}]", TEX)
        lines[#lines + 1] = typed and "\\textbf{" .. part .. "}" or part
      end
    elseif typed and s:match("^%$ ") then
      lines[#lines + 1] = '<span class="prompt">$ </span><b>' .. escape(s:sub(3)) .. "</b>"
    else
      lines[#lines + 1] = typed and "<b>" .. escape(s) .. "</b>" or escape(s)
    end
  end
  if kind == "console" then
    session(block.text, line)
  else
    for s in (block.text:gsub("\t", "        ") .. "\n"):gmatch("(.-)\n") do
      line(s, false)
    end
  end
  local text = table.concat(lines, "\n")
  if html then
    return pandoc.RawBlock("html", '<pre class="' .. kind .. '"><code>' .. text .. "</code></pre>")
  end
  return pandoc.RawBlock("latex", "\\begin{Verbatim}\n" .. text .. "\n\\end{Verbatim}")
end

-- Return the width of a text in letters; a Chinese character is as wide as two letters.
local function places(text)
  local count = 0
  for _, code in utf8.codes(text) do
    count = count + (code >= 0x2E80 and 2 or 1)
  end
  return count
end

-- Set the widths of a table's columns. Browsers choose them well; on paper the longest cell of a
-- column determines its width.
local function columns(block)
  local longest, sum = {}, 0
  for i in ipairs(block.colspecs) do
    longest[i] = 1
  end
  local function look(rows)
    for _, row in ipairs(rows) do
      for i, cell in ipairs(row.cells) do
        longest[i] = math.max(longest[i], places(pandoc.utils.stringify(cell.contents)))
      end
    end
  end
  look(block.head.rows)
  for _, body in ipairs(block.bodies) do
    look(body.body)
  end
  for i in ipairs(longest) do
    sum = sum + longest[i]
  end
  local wide = not html and sum > 75
  for i, spec in ipairs(block.colspecs) do
    -- With the square root, a column of short words beside a column of sentences is wide enough for
    -- whole words.
    spec[2] = wide and math.sqrt(longest[i]) or nil
  end
  if wide then
    local all = 0
    for _, spec in ipairs(block.colspecs) do
      all = all + spec[2]
    end
    for _, spec in ipairs(block.colspecs) do
      spec[2] = spec[2] / all
    end
  end
  return block
end

-- Let the reader scroll a block that may be wider than the window.
local function scroll(block)
  return html and pandoc.Div({ block }, pandoc.Attr("", { "scroll" })) or block
end

local function without_comments(raw)
  raw.text = raw.text:gsub("<!%-%-.-%-%->", "")
  return raw.text:match("%S") and raw or {}
end

-- Punctuation that no line begins with, and that no line ends with.
local CLOSING = ".,;:!?)]%\u{2019}\u{201D}，。、；：！？）」』》〉】％"
local OPENING = "([\u{2018}\u{201C}（「『《〈【"

-- Split off the characters of a set at the end of a text, or else at its beginning.
local function split(text, set, at_end)
  local characters, from, to = {}, 1, 0
  for character in text:gmatch(utf8.charpattern) do
    characters[#characters + 1] = character
  end
  to = #characters
  while at_end and from <= to and set:find(characters[to], 1, true) do
    to = to - 1
  end
  while not at_end and from <= to and set:find(characters[from], 1, true) do
    from = from + 1
  end
  if at_end then
    return table.concat(characters, "", 1, to), table.concat(characters, "", to + 1)
  end
  return table.concat(characters, "", 1, from - 1), table.concat(characters, "", from)
end

-- A browser may end a line on each side of a formula, so keep its punctuation with it.
local function together(inlines)
  for i, this in ipairs(inlines) do
    if this.t == "RawInline" and this.text:match("^<math") then
      local before, after, opening, closing = inlines[i - 1], inlines[i + 1], "", ""
      if before and before.t == "Str" then
        before.text, opening = split(before.text, OPENING, true)
      end
      if after and after.t == "Str" then
        closing, after.text = split(after.text, CLOSING, false)
      end
      if opening .. closing ~= "" then
        this.text = '<span class="together">' .. escape(opening) .. this.text .. escape(closing) .. "</span>"
      end
    end
  end
  return inlines
end

-- Allow line breaks on paper after a slash within a long path, and between Chinese punctuation and code.
local function breakable(inlines)
  local broken = pandoc.List()
  for i, inline in ipairs(inlines) do
    if inline.t == "Code" and #inline.text > 20 and inline.text:find("/", 1, true) then
      local text = pandoc.write(pandoc.Pandoc({ pandoc.Plain({ inline }) }), "latex")
      inline = pandoc.RawInline("latex", (text:gsub("/([^}])", "/\\allowbreak{}%1")))
    end
    broken:insert(inline)
    local after = inlines[i + 1]
    local last = inline.t == "Str" and inline.text:match(utf8.charpattern .. "$")
    if last and utf8.codepoint(last) >= 0x2E80 and after and after.t == "Code" then
      broken:insert(pandoc.RawInline("latex", "\\allowbreak{}"))
    end
  end
  return broken
end

-- Return a figure in two drawings. A narrow window shows the narrow drawing, in which letters have
-- the same size.
local function with_narrow(image, data, name)
  local width, height = data:match('<svg[^>]- viewBox="0 0 (%d+) (%d+)"')
  write("pictures/" .. name, data)
  image.classes:insert("drawn-twice")
  local shown = pandoc.write(pandoc.Pandoc({ pandoc.Plain({ image }) }), "html")
  return pandoc.RawInline("html", ('<picture><source media="(max-width: 720px)" srcset="pictures/%s"'
    .. ' width="%s" height="%s">%s</picture>'):format(name, width, height, shown))
end

-- Return the rules for the parts of a page that depend on its place: links, pictures, identifiers
-- of headings.
local function rules(chapter, book)
  return {
    Header = function(header)
      if html and header.level > 1 then
        header.content = { pandoc.Link(header.content, "#" .. header.identifier, "", { class = "self" }) }
      elseif not html then
        header.identifier = header.level == 1 and chapter.id or chapter.id .. "-" .. header.identifier
      end
      return header
    end,
    Link = function(link)
      if link.target:match("^%a[%w+.-]*:") then
        return link
      end
      local target, place = link.target:match("^([^#]*)#?(.*)$")
      local path = target == "" and chapter.path or resolve(chapter.path, target)
      if book[path] then
        link.target = address(path, place)
        return link
      end
      -- The book does not contain this file of the kit, so print its path instead of a link.
      local name = pandoc.utils.stringify(link)
      if name == path or name == target then
        return pandoc.Code(path)
      end
      local words = pandoc.List(link.content)
      words:extend({ pandoc.Str(" ("), pandoc.Code(path), pandoc.Str(")") })
      return words
    end,
    Image = function(image)
      local path = resolve(chapter.path, image.src)
      local data = read(path)
      local kind = path:match("%.(%w+)$")
      local width, height = data:match('<svg[^>]- viewBox="0 0 (%d+) (%d+)"')
      if kind == "png" then
        width, height = (">I4I4"):unpack(data, 17)
      end
      -- A phone can show a narrow drawing or a screenshot completely; the reader scrolls wider
      -- drawings.
      if tonumber(width) <= 480 or kind == "png" then
        image.classes:insert("narrow")
      end
      -- State the size, so that the page does not move when the picture has loaded.
      if html then
        image.attributes.width, image.attributes.height = tostring(width), tostring(height)
      end
      -- A plot is drawn for a white page only; a drawing is also drawn for a dark page.
      if kind == "svg" and not data:find("prefers-color-scheme", 1, true) then
        image.classes:insert("plot")
      end
      if html then
        image.src = "pictures/" .. path:match("[^/]*$")
        write(image.src, data)
        local narrow = path:gsub("%.svg$", "-narrow.svg")
        if narrow ~= path and exists(narrow) and chapter.id ~= "index" then
          return with_narrow(image, read(narrow), narrow:match("[^/]*$"))
        end
      else
        kind = "image/" .. (kind == "svg" and "svg+xml" or kind)
        -- gnuplot hides points with a scale of 0, which rsvg-convert reports as an error.
        data = data:gsub("scale%(0%.00%)", "scale(0.01)")
        pandoc.mediabag.insert(path, kind, data)
        image.src = path
      end
      return image
    end,
    CodeBlock = code,
    Math = formula,
    Inlines = html and together or breakable,
    RawBlock = without_comments,
    RawInline = without_comments,
  }
end

-- Return the text of all pages for the search: the address, the title and the words of each
-- section.
local function index(book)
  local rows = {}
  local function quote(text)
    return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
  end
  for _, chapter in ipairs(book) do
    pandoc.Div(pandoc.utils.make_sections(false, nil, chapter.text.blocks)):walk({
      Div = function(section)
        local header, own = section.content[1], pandoc.List()
        for i = 2, #section.content do
          own:extend(section.content[i].t ~= "Div" and { section.content[i] } or {})
        end
        local title, place = chapter.title, ""
        if header.level > 1 then
          title, place = title .. " › " .. pandoc.utils.stringify(header), section.identifier
        end
        local plain = pandoc.Pandoc(own):walk({
          Math = function(math)
            return pandoc.Str(math.text)
          end,
        })
        local text = pandoc.write(plain, "plain", { wrap_text = "none" })
        text = text:gsub("%-%-%-+", " "):gsub("%s+", " ")
        rows[#rows + 1] = ("[%s,%s,%s]"):format(quote(address(chapter.path, place)), quote(title), quote(text))
      end,
    })
  end
  return "window.searchIndex = [\n" .. table.concat(rows, ",\n") .. "\n];\n"
end

-- Return the list of all pages, with the headings of this page.
local function contents(book, this)
  local items = {}
  for i, chapter in ipairs(book) do
    local here = chapter == this and { ["aria-current"] = "page" } or {}
    items[i] = { pandoc.Plain({ pandoc.Link(chapter.title, chapter.id .. ".html", "", here) }) }
    local inner = {}
    for _, block in ipairs(chapter == this and chapter.text.blocks or {}) do
      if block.t == "Header" and block.level == 2 then
        inner[#inner + 1] = { pandoc.Plain({ pandoc.Link(block.content[1].content, "#" .. block.identifier) }) }
      end
    end
    if #inner > 0 then
      items[i][2] = pandoc.BulletList(inner)
    end
  end
  return pandoc.MetaBlocks({ pandoc.BulletList(items) })
end

-- Write a page. before and after are the pages before and after it, or nil.
local function write_page(doc, book, chapter, before, after)
  local meta, folders = doc.meta, {}
  local top = translated ~= "" and "../" or ""
  for lang, name, folder in languages:gmatch("(%S+)=(%S+)=(%S*)") do
    local other = lang ~= pandoc.utils.stringify(meta.language)
    folders[#folders + 1] = { lang = lang, name = name, url = other and top .. folder .. chapter.id .. ".html" or nil }
  end
  local function neighbour(other)
    return other and { url = other.id .. ".html", title = other.title }
  end
  meta.pagetitle, meta.top = chapter.title, top
  meta.contents, meta.languages = contents(book, chapter), #folders > 1 and folders or nil
  meta.previous, meta.next = neighbour(before), neighbour(after)
  meta.english = translated ~= "" and not io.open(translated .. "/" .. chapter.path:gsub("^handouts/", ""))
  write(chapter.id .. ".html", pandoc.write(pandoc.Pandoc(chapter.text.blocks, meta), "html5", PANDOC_WRITER_OPTIONS))
end

function Pandoc(doc)
  root = pandoc.utils.stringify(doc.meta.root)
  translated = pandoc.utils.stringify(doc.meta.translated)
  site = pandoc.utils.stringify(doc.meta.site or "")
  languages = pandoc.utils.stringify(doc.meta.languages or "")
  words = {}
  for name, said in pairs(doc.meta.words) do
    words[name] = pandoc.utils.stringify(said)
  end
  local instructor = pandoc.utils.stringify(doc.meta.instructor) == "1"
  local book = chapters(instructor)
  if exists(ANSWERS) and (instructor or not exists(INSTRUCTOR .. ".md")) then
    local answers = read_answers()
    for _, chapter in ipairs(book) do
      put_answers(chapter, answers[chapter.path])
    end
  end
  if html then
    write("search.js", index(book))
    local landing = pandoc.List(doc.meta.landing)
    landing:extend(doc.meta.teachers or {})
    book[0] = { path = COURSE, id = "index", title = words.title, text = pandoc.Pandoc(landing) }
  end
  -- Remove these texts, because pandoc would otherwise load their pictures for the template.
  doc.meta.landing, doc.meta.teachers = nil, nil
  local blocks = pandoc.List()
  for i = html and 0 or 1, #book do
    local chapter = book[i]
    page = chapter.path
    chapter.text = chapter.text:walk(rules(chapter, book)):walk({
      Table = function(block)
        return scroll(columns(block))
      end,
      Para = function(block)
        return #block.content == 1 and block.content[1].t == "Image" and scroll(block) or nil
      end,
    })
    blocks:extend(chapter.text.blocks)
  end
  if html then
    for i = 0, #book do
      doc.meta.landing = i == 0
      write_page(doc, book, book[i], i > 1 and book[i - 1] or nil, i > 0 and book[i + 1] or nil)
    end
    blocks = {}
  end
  doc.blocks = blocks
  return doc
end
